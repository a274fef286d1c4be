//! What a program needs around it: the interface `environment`.

use std::time::{Instant, SystemTime};

use wasmtime::Result;
use wasmtime::component::{Access, HasSelf};

use super::Guest;
use super::output::Output;
use super::spans::running_task;
use crate::guest::bindings::{context, environment, types};
use crate::guest::instant::{at, by_system_clock};

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
    /// The time that the guest was told.
    now: Option<SystemTime>,
    pub(super) output: Output,
}

impl CallState {
    /// A call begins.
    pub(super) fn begin(&mut self, arrived: Instant) {
        (self.arrived, self.received, self.now) = (Some(arrived), None, None);
    }

    fn received_at(&mut self) -> Option<SystemTime> {
        self.received = self.received.or_else(|| self.arrived.map(by_system_clock));
        self.received
    }

    /// The first answer counts for the whole call. It is not before `latest`, the latest one that a call of the instance got.
    fn time(&mut self, latest: &mut Option<SystemTime>) -> SystemTime {
        if let (None, Some(received)) = (self.now, self.received_at()) {
            *latest = (*latest).max(Some(received));
            self.now = *latest;
        }
        self.now.unwrap_or(SystemTime::UNIX_EPOCH)
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

    fn time(&mut self, task: Option<usize>) -> SystemTime {
        let mut latest = self.latest;
        let time = self.state(task).time(&mut latest);
        self.latest = latest;
        time
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
        // Outside of a call, as when its manifest is read, the module depends on nothing.
        if self.own.arrived.is_none() {
            return Ok(Vec::new());
        }
        let property = |(name, value): &(String, String)| types::Property {
            name: name.clone(),
            value: value.clone(),
        };
        Ok(self.variables.iter().map(property).collect())
    }
}

impl<T: Send + 'static> environment::HostWithStore<T> for HasSelf<Guest> {
    fn now(mut access: Access<'_, T, Self>) -> Result<context::Instant> {
        let task = running_task(&mut access)?;
        Ok(at(access.get().time(task)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_call_that_waited_for_its_instance_is_not_before_the_last_one() {
        let (mut state, mut latest) = (CallState::default(), None);
        assert_eq!(state.time(&mut latest), SystemTime::UNIX_EPOCH);
        let early = Instant::now();
        let mut time_of = |arrived| {
            state.begin(arrived);
            let time = state.time(&mut latest);
            assert_eq!(state.time(&mut latest), time, "it stands still");
            (time, state.received_at())
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
    fn random_numbers_are_used_once() {
        let mut random = Random::default();
        let mut numbers: Vec<_> = (0..3 * RANDOM_NUMBERS).filter_map(|_| random.next().ok()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert!(numbers.len() > 3 * RANDOM_NUMBERS - 3, "{}", numbers.len());
    }
}
