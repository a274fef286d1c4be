//! What a program needs around it: the interface `environment`.

use std::time::SystemTime;

use wasmtime::Result;
use wasmtime::component::{Access, HasSelf};

use super::Guest;
use super::output::Output;
use super::spans::running_task;
use crate::guest::bindings::{context, environment, types};
use crate::guest::instant::at;

/// The random numbers that are fetched at once: the system call costs more than the number.
const RANDOM_NUMBERS: usize = 64;

/// The random bits outside of a request or event. They are not 0, which some programs take for a broken generator.
const BITS_OUTSIDE: u32 = 0x9e37_79b9;

/// What belongs to one call, or to the code of an instance that no call runs.
#[derive(Default)]
pub(super) struct CallState {
    /// When the request or event arrived; `None` before the first call of the instance.
    pub(super) now: Option<SystemTime>,
    pub(super) output: Output,
}

impl CallState {
    /// The time of a call that begins. It is never before that of a call that began earlier.
    fn begin(&mut self, arrived: SystemTime) -> SystemTime {
        let now = self.now.map_or(arrived, |latest| latest.max(arrived));
        self.now = Some(now);
        now
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
    /// The time of a call that begins in the instance.
    pub(super) fn begin_time(&mut self, arrived: SystemTime) -> SystemTime {
        self.own.begin(arrived)
    }
}

impl environment::Host for Guest {
    fn random(&mut self) -> Result<u32> {
        if self.own.now.is_none() {
            return Ok(BITS_OUTSIDE);
        }
        self.random.next()
    }

    fn variables(&mut self) -> Result<Vec<types::Property>> {
        // The configuration of a module has no variables.
        Ok(Vec::new())
    }
}

impl<T: Send + 'static> environment::HostWithStore<T> for HasSelf<Guest> {
    fn now(mut access: Access<'_, T, Self>) -> Result<context::Instant> {
        let task = running_task(&mut access)?;
        let state = access.get().state(task);
        Ok(at(state.now.unwrap_or(SystemTime::UNIX_EPOCH)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_call_that_waited_for_its_instance_is_not_before_the_last_one() {
        let (mut state, early) = (CallState::default(), SystemTime::UNIX_EPOCH + Duration::from_secs(1));
        let late = early + Duration::from_secs(1);
        assert_eq!(state.begin(early), early);
        assert_eq!(state.begin(late), late);
        assert_eq!(state.begin(early), late);
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
