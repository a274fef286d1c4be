//! What a program needs around it: the interface `environment`.

use std::time::{Duration, Instant, SystemTime};

use pointwork_core::{Audience, Crash, Failure};
use wasmtime::Result;
use wasmtime::component::{Access, HasSelf};

use super::Guest;
use super::output::Output;
use super::slices::Cleanup;
use super::spans::running_task;
use crate::guest::bindings::{context, environment, types};
use crate::guest::instant::{at, by_system_clock};
use crate::variables::PROGRAM;

/// The random numbers that are fetched at once: the system call costs more than the number.
const RANDOM_NUMBERS: usize = 64;

/// The random bits outside of a request or event. They are not 0, which some programs take for a broken generator.
const BITS_OUTSIDE: u32 = 0x9e37_79b9;

/// What belongs to one call, or to the code of an instance that no call runs.
#[derive(Default)]
pub(super) struct CallState {
    /// When the request or event arrived; `None` before the first call of the instance.
    arrived: Option<Instant>,
    /// The same by the system's clock, which is read for a guest that asks.
    received: Option<SystemTime>,
    /// The times that the guest was told.
    told: Option<Times>,
    pub(super) output: Output,
    /// Whether the request body broke off, was too long or came too late.
    body_failed: bool,
    /// The exception that ends the call, as the guest reported it, and whether [any client can cause it](Self::is_of_client).
    pub(super) raised: Option<(Crash, bool)>,
    pub(super) cleanup: Cleanup,
    /// The number of the event that it used last.
    pub(super) last_event: Option<usize>,
}

impl CallState {
    /// A call begins.
    pub(super) fn begin(&mut self, arrived: Instant, audience: Audience) {
        (self.arrived, self.received, self.told) = (Some(arrived), None, None);
        (self.raised, self.last_event, self.body_failed) = (None, None, false);
        self.cleanup = Cleanup::new(audience);
    }

    /// Whether any client can cause a failure of the call from now on: the client has left, or its body failed.
    pub(super) fn is_of_client(&self) -> bool {
        self.body_failed || self.cleanup.has_left()
    }

    /// Notes the result of reading the request body.
    pub(super) fn has_read<T>(&mut self, result: &std::result::Result<T, Failure>) {
        // Other failures are mistakes of the module, such as a body that it took before.
        self.body_failed |= result.as_ref().is_err_and(|failure| failure.status().is_client_error());
    }

    fn received_at(&mut self) -> Option<SystemTime> {
        self.received = self.received.or_else(|| self.arrived.map(by_system_clock));
        self.received
    }

    /// The first answer counts for the whole call.
    fn times(&mut self, clock: &mut GuestClock) -> Times {
        if let (None, Some(arrived), Some(received)) = (self.told, self.arrived, self.received_at()) {
            self.told = Some(clock.times(arrived, received));
        }
        self.told.unwrap_or(Times {
            now: SystemTime::UNIX_EPOCH,
            monotonic: SystemTime::UNIX_EPOCH,
        })
    }
}

/// One time by two clocks: that of the system, which may be set, and one that nobody sets.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Times {
    now: SystemTime,
    monotonic: SystemTime,
}

/// The clocks of an instance, by the latest arrival that a call was told.
#[derive(Default)]
pub(super) struct GuestClock(Option<(Instant, Times)>);

/// An arrival is computed from two readings of clocks, between which the thread may have waited for the processor. A clock that
/// seems to be set back by less stands still for that time.
const INACCURACY: Duration = Duration::from_millis(100);

impl GuestClock {
    /// The times of a call that arrived then, and that the system's clock says was received then.
    fn times(&mut self, arrived: Instant, received: SystemTime) -> Times {
        let times = match self.0 {
            // The call waited for the instance while a later one ran.
            Some((latest, told)) if arrived <= latest => return told,
            Some((latest, told)) => {
                let set_back = told.now.duration_since(received).unwrap_or_default();
                Times {
                    now: if set_back < INACCURACY {
                        received.max(told.now)
                    } else {
                        received
                    },
                    monotonic: told.monotonic + arrived.duration_since(latest),
                }
            }
            None => Times {
                now: received,
                monotonic: received,
            },
        };
        self.0 = Some((arrived, times));
        times
    }
}

/// Random numbers that no guest has seen.
#[derive(Default)]
pub(super) struct Random(Vec<u32>);

impl Random {
    fn next(&mut self) -> Result<u32> {
        if let Some(number) = self.0.pop() {
            return Ok(number);
        }
        let mut bytes = [0; size_of::<u32>() * RANDOM_NUMBERS];
        getrandom::fill(&mut bytes)
            .map_err(|error| wasmtime::format_err!("the system has no random numbers: {error}"))?;
        let (numbers, _) = bytes.as_chunks();
        self.0.extend(numbers.iter().copied().map(u32::from_ne_bytes));
        Ok(self.0.pop().unwrap_or_default())
    }
}

impl Guest {
    /// When a request was received, by the system's clock. The time of its call is the same one: two readings of the clock would
    /// differ, and the time could be before the arrival.
    pub(super) fn received_at(&mut self, arrived: Instant) -> SystemTime {
        let of_its_call = self.states().find(|state| state.arrived == Some(arrived));
        of_its_call
            .and_then(CallState::received_at)
            .unwrap_or_else(|| by_system_clock(arrived))
    }

    fn times(&mut self, task: Option<usize>) -> Times {
        let mut clock = std::mem::take(&mut self.clock);
        let times = self.state(task).times(&mut clock);
        self.clock = clock;
        times
    }
}

impl environment::Host for Guest {
    fn random(&mut self) -> Result<u32> {
        if self.own.arrived.is_none() {
            return Ok(BITS_OUTSIDE);
        }
        self.random.next()
    }

    fn variables(&mut self) -> Result<Vec<types::Property>> {
        // Outside of a call, as when its manifest is read, the module depends on nothing but its program.
        let is_called = self.own.arrived.is_some();
        let property = |(name, value): &(String, String)| types::Property {
            name: name.clone(),
            value: value.clone(),
        };
        let known = self.variables.iter();
        let known = known.filter(|(name, _)| is_called || name == PROGRAM);
        Ok(known.map(property).collect())
    }
}

impl<T: Send + 'static> environment::HostWithStore<T> for HasSelf<Guest> {
    fn now(mut access: Access<'_, T, Self>) -> Result<context::Instant> {
        let task = running_task(&mut access)?;
        Ok(at(access.get().times(task).now))
    }

    fn monotonic(mut access: Access<'_, T, Self>) -> Result<context::Instant> {
        let task = running_task(&mut access)?;
        Ok(at(access.get().times(task).monotonic))
    }
}

#[cfg(test)]
mod tests {
    use pointwork_core::Clock;

    use super::*;

    #[test]
    fn a_call_that_waited_for_its_instance_is_not_before_the_last_one() {
        let (mut state, mut clock) = (CallState::default(), GuestClock::default());
        assert_eq!(state.times(&mut clock).now, SystemTime::UNIX_EPOCH);
        let early = Clock::real().now();
        let mut time_of = |arrived| {
            state.begin(arrived, Audience::default());
            let times = state.times(&mut clock);
            assert_eq!(state.times(&mut clock), times, "it stands still");
            (times.now, state.received_at())
        };
        let (first, received) = time_of(early);
        assert_eq!(received, Some(first));
        let (second, received) = time_of(early + Duration::from_secs(1));
        assert_eq!(received, Some(second));
        assert!(second > first);
        let (third, received) = time_of(early);
        assert_eq!(third, second);
        assert!(received < Some(third));
    }

    #[test]
    fn a_clock_that_is_set_back_is_followed_and_the_other_one_goes_on() {
        let (mut clock, begin) = (GuestClock::default(), Clock::real().now());
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
        let second = Duration::from_secs(1);
        let mut times = |after, received| clock.times(begin + after, received);
        let first = times(second, start);
        assert_eq!((first.now, first.monotonic), (start, start));
        let back = start - 3600 * second;
        let (set_back, next) = (times(2 * second, back), times(3 * second, back + second));
        assert_eq!((set_back.now, set_back.monotonic), (back, start + second));
        assert_eq!((next.now, next.monotonic), (back + second, start + 2 * second));
        assert_eq!(times(second, back), next, "it waited for its instance");
        let ahead = times(4 * second, start + 3600 * second);
        assert_eq!(
            (ahead.now, ahead.monotonic),
            (start + 3600 * second, start + 3 * second)
        );
        let inaccurate = times(5 * second, ahead.now - INACCURACY / 2);
        assert_eq!((inaccurate.now, inaccurate.monotonic), (ahead.now, start + 4 * second));
    }

    #[test]
    fn random_numbers_are_used_once() {
        let mut random = Random::default();
        let mut numbers: Vec<_> = (0..3 * RANDOM_NUMBERS).filter_map(|_| random.next().ok()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert!(numbers.len() > 3 * RANDOM_NUMBERS - 3, "{}", numbers.len());
    }
}
