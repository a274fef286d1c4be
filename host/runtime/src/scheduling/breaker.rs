//! The circuit breaker of a handler, of a listener, or of the creation of a module's instances.
//!
//! ```text
//!            crashes in a row           the pause is over
//!   closed ────────────────────► open ────────────────────► half-open ──► closed
//!      ▲                          ▲                             │  enough successes
//!      └── successes reset        └───── a crash, twice ────────┘
//!          the count                     the pause
//! ```
//!
//! Closed, the breaker admits every call, and costs a call one relaxed load. Open, it refuses every call. Half-open, it admits one call
//! at a time, and twice as many after each success, until [`FULL`] calls at a time close it. So a handler that recovered slowly is
//! not met by all of its clients at once. A success is a call that ended or whose response began, or [`PATIENCE`] without a crash.
//!
//! Nothing runs when a pause is over: an open breaker whose pause is over *is* half-open, so that a status shows the state without a
//! call. Pauses have a jitter, because the breakers of many processes would otherwise let calls through at the same moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pointwork_core::Clock;

use crate::Breaker;

/// The number of calls at a time that closes a half-open breaker.
const FULL: u32 = 32;

/// The time without a crash that counts as a success.
const PATIENCE: Duration = Duration::from_secs(1);

/// See the module documentation.
pub(crate) struct CircuitBreaker {
    options: Breaker,
    clock: Clock,
    crashes_in_a_row: AtomicU32,
    /// `None` while it is closed.
    open: Mutex<Option<Open>>,
}

/// A breaker that is open until `until`, and half-open from then on.
struct Open {
    until: Instant,
    /// The length of the pause without jitter, which the next pause doubles.
    pause: Duration,
    /// The number of calls at a time that a half-open breaker admits.
    allowed: u32,
    /// The number of admitted calls that have not ended.
    in_flight: u32,
    /// When a half-open breaker admitted the first of these calls, or counted the last success.
    since: Instant,
}

/// The state of a breaker that is not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BreakerState {
    /// It refuses calls for this long.
    Open(Duration),
    HalfOpen,
}

/// A call that a half-open breaker admitted, until the call is dropped.
pub(crate) struct Probe(Arc<CircuitBreaker>);

impl Drop for Probe {
    fn drop(&mut self) {
        if let Some(open) = &mut *self.0.open.lock() {
            open.in_flight = open.in_flight.saturating_sub(1);
        }
    }
}

/// A breaker has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Opened {
    pub(crate) crashes_in_a_row: u32,
    pub(crate) pause: Duration,
}

impl CircuitBreaker {
    pub(crate) fn new(options: Breaker, clock: Clock) -> Arc<Self> {
        Arc::new(Self {
            options,
            clock,
            crashes_in_a_row: AtomicU32::new(0),
            open: Mutex::default(),
        })
    }

    /// `None` if it is closed.
    pub(crate) fn state(&self) -> Option<BreakerState> {
        let rest = self
            .open
            .lock()
            .as_ref()?
            .until
            .saturating_duration_since(self.clock.now());
        Some(if rest.is_zero() {
            BreakerState::HalfOpen
        } else {
            BreakerState::Open(rest)
        })
    }

    /// Admits a call. A half-open breaker counts the call until the probe is dropped.
    ///
    /// # Errors
    /// The time after which a retry may succeed.
    pub(crate) fn admit(self: &Arc<Self>) -> Result<Option<Probe>, Duration> {
        if !self.opens_at(self.crashes_in_a_row.load(Ordering::Relaxed)) {
            return Ok(None);
        }
        let mut state = self.open.lock();
        let Some(open) = &mut *state else { return Ok(None) };
        let now = self.clock.now();
        let rest = open.until.saturating_duration_since(now);
        if !rest.is_zero() {
            return Err(with_jitter(rest));
        }
        if open.in_flight == 0 {
            open.since = now;
        } else if open.in_flight >= open.allowed {
            let waited = now.saturating_duration_since(open.since);
            if waited < PATIENCE {
                return Err(with_jitter(PATIENCE - waited));
            }
            // The calls in flight take long, and none of them crashes.
            if self.count_success(&mut state, now) {
                return Ok(None);
            }
        }
        Ok(state.as_mut().map(|open| {
            open.in_flight += 1;
            Probe(self.clone())
        }))
    }

    /// The response of a call began, which may take long to end. This counts as a success of a half-open breaker alone: a handler that
    /// crashes in the middle of each response must open a closed one.
    pub(crate) fn response_began(&self) {
        if self.state() == Some(BreakerState::HalfOpen) {
            self.count_success(&mut self.open.lock(), self.clock.now());
        }
    }

    /// A call ended without a crash. Returns whether this closed the breaker.
    pub(crate) fn succeeded(&self) -> bool {
        if self.crashes_in_a_row.load(Ordering::Relaxed) == 0 {
            return false;
        }
        let mut state = self.open.lock();
        let now = self.clock.now();
        match &*state {
            None => {
                self.crashes_in_a_row.store(0, Ordering::Relaxed);
                false
            }
            // The call began before the breaker opened.
            Some(open) if now < open.until => false,
            Some(_) => self.count_success(&mut state, now),
        }
    }

    /// Counts a success of a half-open breaker. Returns whether this closed the breaker.
    fn count_success(&self, state: &mut Option<Open>, now: Instant) -> bool {
        let Some(open) = state else { return false };
        open.allowed *= 2;
        open.since = now;
        let closes = open.allowed > FULL;
        if closes {
            *state = None;
            self.crashes_in_a_row.store(0, Ordering::Relaxed);
        }
        closes
    }

    /// A call crashed. Returns whether this opened the breaker.
    pub(crate) fn crashed(&self) -> Option<Opened> {
        let crashes_in_a_row = self.crashes_in_a_row.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if !self.opens_at(crashes_in_a_row) {
            return None;
        }
        let mut state = self.open.lock();
        let now = self.clock.now();
        let pause = match &*state {
            None => self.options.pause,
            // The call began before the breaker opened.
            Some(open) if now < open.until => return None,
            Some(open) => open.pause * 2,
        };
        let pause = pause.min(self.options.longest);
        let jittered = with_jitter(pause).min(self.options.longest);
        *state = Some(Open {
            until: now + jittered,
            pause,
            allowed: 1,
            in_flight: 0,
            since: now,
        });
        Some(Opened {
            crashes_in_a_row,
            pause: jittered,
        })
    }

    fn opens_at(&self, crashes_in_a_row: u32) -> bool {
        self.options.crashes > 0 && crashes_in_a_row >= self.options.crashes
    }
}

/// A breaker that never opens.
impl Default for CircuitBreaker {
    fn default() -> Self {
        Self {
            options: Breaker {
                crashes: 0,
                ..Breaker::new()
            },
            clock: Clock::real(),
            crashes_in_a_row: AtomicU32::new(0),
            open: Mutex::default(),
        }
    }
}

/// A random time between three quarters and five quarters of `time`.
fn with_jitter(time: Duration) -> Duration {
    // Without random bits the time stays as it is.
    let random = getrandom::u32().map_or(0.5, |bits| f64::from(bits) / f64::from(u32::MAX));
    time.mul_f64(0.75 + random / 2.0)
}

#[cfg(test)]
mod tests {
    use pointwork_test_clock::TestClock;

    use super::*;

    const PAUSE: Duration = Duration::from_secs(4);

    fn breaker(crashes: u32, longest: Duration) -> (TestClock, Arc<CircuitBreaker>) {
        let (time, pause) = (TestClock::new(), PAUSE);
        let options = Breaker {
            crashes,
            pause,
            longest,
        };
        let breaker = CircuitBreaker::new(options, time.clock());
        (time, breaker)
    }

    fn is_about(time: Duration, expected: Duration) -> bool {
        (expected.mul_f64(0.75)..=expected.mul_f64(1.25)).contains(&time)
    }

    #[test]
    fn it_opens_after_crashes_in_a_row_alone() {
        let (_, breaker) = breaker(2, 8 * PAUSE);
        assert_eq!(breaker.crashed(), None);
        assert!(!breaker.succeeded(), "it was not open");
        assert_eq!(breaker.crashed(), None, "the success came between them");
        let opened = breaker.crashed().expect("two in a row");
        assert_eq!(opened.crashes_in_a_row, 2);
        assert!(is_about(opened.pause, PAUSE), "{:?}", opened.pause);
        assert!(breaker.admit().is_err());
        assert_eq!(breaker.crashed(), None, "a call from before the pause");
    }

    #[test]
    fn successes_let_more_calls_through_until_it_is_closed() {
        let (time, breaker) = breaker(1, 8 * PAUSE);
        let opened = breaker.crashed().expect("it opens");
        assert_eq!(breaker.state(), Some(BreakerState::Open(opened.pause)));
        assert!(!breaker.succeeded(), "a call from before the pause");
        time.advance_blocking(opened.pause);
        assert_eq!(breaker.state(), Some(BreakerState::HalfOpen), "without a call");
        let mut at_a_time = 1;
        while breaker.state().is_some() {
            let probes: Vec<_> = (0..at_a_time)
                .map(|_| breaker.admit().expect("it is allowed"))
                .collect();
            assert!(breaker.admit().is_err(), "{at_a_time} at a time");
            drop(probes);
            assert_eq!(breaker.succeeded(), at_a_time == FULL);
            at_a_time *= 2;
        }
        assert_eq!(at_a_time, 2 * FULL);
        assert!(breaker.admit().is_ok_and(|probe| probe.is_none()));
    }

    #[test]
    fn a_crash_doubles_the_pause_up_to_the_longest() {
        let (time, breaker) = breaker(1, 5 * PAUSE);
        for times in [1, 2, 4, 5, 5] {
            let opened = breaker.crashed().expect("the breaker opens");
            assert!(is_about(opened.pause, times * PAUSE), "{times}: {:?}", opened.pause);
            assert!(opened.pause <= 5 * PAUSE);
            time.advance_blocking(opened.pause);
            breaker.admit().expect("the pause is over");
        }
    }

    #[test]
    fn a_second_without_a_crash_is_a_success() {
        let (time, breaker) = breaker(1, 8 * PAUSE);
        let opened = breaker.crashed().expect("the breaker opens");
        time.advance_blocking(opened.pause);
        let first = breaker.admit().expect("one call");
        time.advance_blocking(PATIENCE / 2);
        assert!(breaker.admit().is_err());
        time.advance_blocking(PATIENCE / 2);
        let second = breaker.admit().expect("the first call goes on without a crash");
        assert!(breaker.admit().is_err());
        drop((first, second));
        breaker.admit().expect("no call is in flight");
    }

    #[test]
    fn a_call_that_was_neither_a_success_nor_a_crash_gives_its_place_back() {
        let (time, breaker) = breaker(1, 8 * PAUSE);
        let opened = breaker.crashed().expect("the breaker opens");
        time.advance_blocking(opened.pause);
        for _ in 0..3 {
            drop(breaker.admit().expect("one call at a time"));
        }
        assert_eq!(breaker.state(), Some(BreakerState::HalfOpen));
    }

    #[test]
    fn zero_crashes_turn_it_off() {
        let (_, breaker) = breaker(0, 8 * PAUSE);
        for _ in 0..100 {
            assert_eq!(breaker.crashed(), None);
        }
        assert!(breaker.admit().is_ok());
    }
}
