//! The canary trial of a version that was swapped in.
//!
//! The application compares each route and listener of the version with the same one of the version before, once in each
//! [`TICK`](super::call_history::TICK). A call itself only [counts](super::ended_calls). The comparison is [`failure`], a function of
//! the counts of both versions.
//!
//! The trial ends by time. A number of calls of the whole module would let a client end the trial by calls of a healthy route, before a
//! failing one was called often enough. Tools that roll out servers, such as Flagger and Argo Rollouts, also compare for a time, and
//! require a number of requests.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::Trial;
use crate::call_counts::{CallCounts, CallCountsByName};

/// The name of the counts of instances that were created, or failed to be. No route or listener has this name.
pub(crate) const INSTANCES: &str = "instances";

/// The number of failed calls from which a circuit breaker that opened fails the trial, unless fewer calls are compared.
const FAILED_CALLS: u64 = 20;

/// The trial of one version.
pub(super) struct CanaryTrial {
    pub(super) options: Trial,
    /// `None` before the trial begins, and once it is over.
    running: Mutex<Option<RunningTrial>>,
}

struct RunningTrial {
    /// The counts of the version before.
    before: CallCountsByName,
    until: Instant,
}

/// What a look at a running trial found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TrialState {
    /// It goes on, after that time on trial.
    Running(Duration),
    /// Its time is over.
    Passed,
    /// The version fails, for this reason.
    Failed(String),
}

impl CanaryTrial {
    pub(super) fn new(options: Trial) -> Self {
        Self {
            options,
            running: Mutex::default(),
        }
    }

    /// Begins the trial, unless it is switched off, or goes on with it after `elapsed`.
    pub(super) fn begin(&self, before: CallCountsByName, elapsed: Duration, now: Instant) {
        if self.options.calls > 0 {
            let until = now + self.options.time.saturating_sub(elapsed);
            *self.running.lock() = Some(RunningTrial { before, until });
        }
    }

    pub(super) fn is_on(&self) -> bool {
        self.running.lock().is_some()
    }

    /// The time on trial; `None` if the trial is not on.
    pub(super) fn elapsed(&self, now: Instant) -> Option<Duration> {
        let until = self.running.lock().as_ref()?.until;
        Some(self.options.time.saturating_sub(until.saturating_duration_since(now)))
    }

    /// Compares the version with the one before. A trial that is over is reported once; afterwards, and without a trial, the result is
    /// `None`.
    pub(super) fn judge(&self, counts: &CallCountsByName, now: Instant) -> Option<TrialState> {
        let mut running = self.running.lock();
        let RunningTrial { before, until } = running.as_ref()?;
        let state = if let Some(reason) = failure(&self.options, counts, before) {
            TrialState::Failed(reason)
        } else if *until <= now {
            TrialState::Passed
        } else {
            TrialState::Running(self.options.time.saturating_sub(*until - now))
        };
        if !matches!(state, TrialState::Running(_)) {
            *running = None;
        }
        Some(state)
    }
}

/// The reason why a version fails its trial; `None` if it does not.
fn failure(options: &Trial, counts: &CallCountsByName, before: &CallCountsByName) -> Option<String> {
    counts.iter().find_map(|(name, counts)| {
        let same = before.get(name).copied().filter(|same| same.calls > 0);
        let before = same.unwrap_or_else(|| all_calls(before));
        let has_higher_share = counts.calls >= options.calls && counts.exceeds(before, options.share);
        let has_opened_breaker = counts.breaker_opened
            && !before.breaker_opened
            && counts.failed >= FAILED_CALLS.min(options.calls)
            && counts.exceeds(before, 0);
        if !has_higher_share && !has_opened_breaker {
            return None;
        }
        let breaker = if has_higher_share {
            ""
        } else {
            " and its circuit breaker opened"
        };
        let in_before = format!("{} of {}", before.failed, before.calls);
        let compared = match same {
            Some(_) => format!("in the version before in {in_before}"),
            None if before.calls > 0 => format!("the calls of the version before failed in {in_before}"),
            None => "the version before had no calls".to_owned(),
        };
        Some(format!(
            "`{name}` failed in {} of {} calls{breaker}; {compared}",
            counts.failed, counts.calls
        ))
    })
}

/// The calls of all routes and listeners.
fn all_calls(counts: &CallCountsByName) -> CallCounts {
    let calls = counts.iter().filter(|(name, _)| *name != INSTANCES);
    calls.fold(CallCounts::default(), |mut sum, (_, counts)| {
        sum.add(*counts);
        sum
    })
}

#[cfg(test)]
mod tests {
    use pointwork_test_clock::TestClock;

    use super::*;

    type Row = (&'static str, u64, u64, bool);

    fn table(rows: &[Row]) -> CallCountsByName {
        let counts = |&(name, failed, calls, breaker_opened): &Row| {
            let counts = CallCounts {
                calls,
                failed,
                breaker_opened,
            };
            (name.to_owned(), counts)
        };
        rows.iter().map(counts).collect()
    }

    /// The name of the route that fails, by default.
    fn failing(new: &[Row], old: &[Row]) -> Option<String> {
        let reason = failure(&Trial::new(), &table(new), &table(old))?;
        reason.split('`').nth(1).map(str::to_owned)
    }

    #[test]
    fn a_share_is_compared_with_that_of_the_same_route() {
        for (failed, calls, old_failed, old_calls, fails) in [
            (19, 19, 0, 100, false), // too few calls
            (20, 20, 0, 100, true),
            (1, 20, 0, 100, false), // 5 points
            (2, 20, 0, 100, true),  // 10 points
            (6, 100, 0, 100, true), // 6 points
            (3, 3, 3, 3, false),
            (20, 20, 3, 3, false),
            (30, 100, 25, 100, false), // 5 points
            (31, 100, 25, 100, true),
            (100, 100, 95, 100, false), // 5 points
            (0, 1_000_000, 1, 1_000_000, false),
            (50_001, 1_000_000, 0, 1_000_000, true),
            (u64::MAX, u64::MAX, u64::MAX, u64::MAX, false),
        ] {
            let (new, old) = (("GET /", failed, calls, false), ("GET /", old_failed, old_calls, false));
            let found = failing(&[new], &[old]).is_some();
            assert_eq!(found, fails, "{failed} of {calls}, before {old_failed} of {old_calls}");
        }
    }

    #[test]
    fn each_route_is_compared_alone() {
        let old = [
            ("GET /a", 0, 100, false),
            ("GET /b", 0, 100, false),
            ("db:one", 90, 100, false),
        ];
        let well = ("GET /a", 0, 1_000_000, false);
        assert_eq!(
            failing(&[well, ("GET /b", 20, 20, false)], &old).as_deref(),
            Some("GET /b")
        );
        assert_eq!(failing(&[well, ("db:one", 19, 20, false)], &old), None);
        // The method belongs to the name.
        assert_eq!(
            failing(&[well, ("POST /b", 20, 20, false)], &old).as_deref(),
            Some("POST /b")
        );
    }

    #[test]
    fn a_route_without_calls_before_is_compared_with_all_calls() {
        let old = [
            ("GET /a", 0, 50, false),
            ("GET /b", 20, 50, false),
            ("GET /new", 0, 0, false),
        ];
        // A fifth of all calls failed; created instances are no calls.
        let with_instances = [&old[..], &[(INSTANCES, 0, 100_000, false)]].concat();
        for old in [&old[..], &with_instances] {
            assert_eq!(failing(&[("GET /new", 25, 100, false)], old), None);
            assert!(failing(&[("GET /new", 26, 100, false)], old).is_some());
            assert!(failing(&[(INSTANCES, 20, 20, false)], old).is_some());
        }
        // A version that nobody called counts as one that never failed.
        assert_eq!(failing(&[("GET /new", 1, 20, false)], &[]), None);
        assert!(failing(&[("GET /new", 2, 20, false)], &[]).is_some());
    }

    #[test]
    fn a_reason_has_the_numbers_of_both_versions() {
        let (old, options) = (
            table(&[("GET /a", 1, 50, false), ("GET /b", 3, 50, false)]),
            Trial::new(),
        );
        for (new, old, reason) in [
            (
                ("GET /a", 20, 25, false),
                &old,
                "`GET /a` failed in 20 of 25 calls; in the version before in 1 of 50",
            ),
            (
                ("GET /a", 20, 1_000, true),
                &table(&[("GET /a", 0, 50, false)]),
                "`GET /a` failed in 20 of 1000 calls and its circuit breaker opened; in the version before in 0 of 50",
            ),
            (
                ("GET /c", 20, 25, false),
                &old,
                "`GET /c` failed in 20 of 25 calls; the calls of the version before failed in 4 of 100",
            ),
            (
                ("GET /c", 20, 25, false),
                &table(&[]),
                "`GET /c` failed in 20 of 25 calls; the version before had no calls",
            ),
        ] {
            assert_eq!(failure(&options, &table(&[new]), old).as_deref(), Some(reason));
        }
    }

    #[test]
    fn a_breaker_that_opens_is_a_failure_whatever_the_number_of_calls() {
        for (opened, failed, old_opened, old_failed, fails) in [
            (true, 20, false, 0, true),
            (false, 20, false, 0, false),
            (true, 19, false, 0, false),  // the breaker opens earlier than by default
            (true, 20, true, 0, false),   // it opened before too
            (true, 20, false, 20, false), // the share is the same
        ] {
            let (new, old) = (
                ("GET /", failed, 100_000, opened),
                ("GET /", old_failed, 100_000, old_opened),
            );
            let found = failing(&[new], &[old]).is_some();
            assert_eq!(found, fails, "{opened} {failed}, before {old_opened} {old_failed}");
        }
        // With fewer calls to compare, fewer failed ones are enough.
        let (new, options) = (table(&[("GET /", 3, 100_000, true)]), Trial::new().calls(3));
        assert!(failure(&options, &new, &CallCountsByName::new()).is_some());
    }

    #[test]
    fn a_trial_ends_once_by_time_or_by_failure() {
        let (clock, options) = (TestClock::new(), Trial::new().time(Duration::from_secs(60)));
        let (well, bad) = (table(&[("GET /", 0, 5, false)]), table(&[("GET /", 20, 20, false)]));
        let second = Duration::from_secs(1);
        let trial = CanaryTrial::new(options.clone());
        assert_eq!(trial.judge(&bad, clock.now()), None, "it has not begun");
        // It goes on after 50 s.
        trial.begin(CallCountsByName::new(), 50 * second, clock.now());
        clock.advance_blocking(9 * second);
        assert_eq!(trial.judge(&well, clock.now()), Some(TrialState::Running(59 * second)));
        assert_eq!(trial.elapsed(clock.now()), Some(59 * second));
        clock.advance_blocking(second);
        assert_eq!(trial.judge(&well, clock.now()), Some(TrialState::Passed));
        assert_eq!((trial.judge(&bad, clock.now()), trial.is_on()), (None, false));
        trial.begin(CallCountsByName::new(), Duration::ZERO, clock.now());
        let failed = trial.judge(&bad, clock.now());
        assert!(matches!(failed, Some(TrialState::Failed(_))), "{failed:?}");
        assert_eq!((trial.judge(&bad, clock.now()), trial.is_on()), (None, false));
        let off = CanaryTrial::new(options.calls(0));
        off.begin(CallCountsByName::new(), Duration::ZERO, clock.now());
        assert!(!off.is_on());
    }
}
