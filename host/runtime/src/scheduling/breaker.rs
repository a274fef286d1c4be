//! The circuit breaker of one version of a module.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pointwork_core::Clock;

use crate::Breaker;

/// Refuses the calls of a module that crashes repeatedly.
///
/// Closed, it admits every call. Enough crashes in a row open it, and it refuses calls for a pause. After the pause it
/// is half-open: it admits one call, which closes it, or opens it again for twice as long.
///
/// While no call crashes, a call costs it a relaxed load.
pub(super) struct CircuitBreaker {
    pub(super) options: Breaker,
    clock: Clock,
    crashes_in_a_row: AtomicU32,
    /// `None` while it is closed.
    open: Mutex<Option<Open>>,
}

struct Open {
    until: Instant,
    pause: Duration,
    /// One call was admitted after the pause, and has not ended.
    half_open: bool,
}

impl CircuitBreaker {
    pub(super) fn new(options: Breaker, clock: Clock) -> Self {
        Self {
            options,
            clock,
            crashes_in_a_row: AtomicU32::new(0),
            open: Mutex::default(),
        }
    }

    /// Whether it is open or half-open.
    pub(super) fn is_open(&self) -> bool {
        self.open.lock().is_some()
    }

    /// Admits a call, unless the breaker is open.
    ///
    /// # Errors
    /// The rest of the pause.
    pub(super) fn admit(&self) -> Result<(), Duration> {
        if !self.opens_at(self.crashes_in_a_row.load(Ordering::Relaxed)) {
            return Ok(());
        }
        if let Some(open) = &mut *self.open.lock() {
            let now = self.clock.now();
            let rest = open.until.saturating_duration_since(now);
            if !rest.is_zero() {
                return Err(rest);
            }
            // Until this call ends, the others are refused; should it not end within the pause, another one is
            // admitted.
            open.until = now + open.pause;
            open.half_open = true;
        }
        Ok(())
    }

    /// A call ended without a crash. Returns whether this closed the breaker.
    pub(super) fn succeeded(&self) -> bool {
        if self.crashes_in_a_row.load(Ordering::Relaxed) == 0 {
            return false;
        }
        self.crashes_in_a_row.store(0, Ordering::Relaxed);
        self.open.lock().take().is_some()
    }

    /// A call crashed. If this opened the breaker, or opened it again, returns the number of crashes in a row and the
    /// pause.
    pub(super) fn crashed(&self) -> Option<(u32, Duration)> {
        let crashes_in_a_row = self.crashes_in_a_row.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        if !self.opens_at(crashes_in_a_row) {
            return None;
        }
        let mut open = self.open.lock();
        let pause = match &*open {
            None => self.options.pause,
            Some(open) if open.half_open => (open.pause * 2).min(self.options.longest),
            // A call that began before the pause does not make it longer.
            Some(_) => return None,
        };
        *open = Some(Open {
            until: self.clock.now() + pause,
            pause,
            half_open: false,
        });
        Some((crashes_in_a_row, pause))
    }

    fn opens_at(&self, crashes_in_a_row: u32) -> bool {
        self.options.crashes > 0 && crashes_in_a_row >= self.options.crashes
    }
}

#[cfg(test)]
mod tests {
    use pointwork_test_clock::TestClock;

    use super::*;

    const PAUSE: Duration = Duration::from_secs(1);

    fn breaker(crashes: u32, longest: Duration) -> (TestClock, CircuitBreaker) {
        let (time, pause) = (TestClock::new(), PAUSE);
        let options = Breaker {
            crashes,
            pause,
            longest,
        };
        let breaker = CircuitBreaker::new(options, time.clock());
        (time, breaker)
    }

    #[test]
    fn one_call_after_the_pause_decides() {
        let (time, breaker) = breaker(1, 8 * PAUSE);
        breaker.admit().unwrap();
        assert_eq!(breaker.crashed(), Some((1, PAUSE)));
        time.advance_blocking(PAUSE / 4);
        assert_eq!(breaker.admit(), Err(3 * PAUSE / 4), "the rest of the pause");
        time.advance_blocking(3 * PAUSE / 4);
        breaker.admit().expect("the pause is over");
        assert_eq!(breaker.admit(), Err(PAUSE), "one call is admitted at a time");
        assert_eq!(breaker.crashed(), Some((2, 2 * PAUSE)));
        assert_eq!(breaker.crashed(), None, "a call from before the pause");
        time.advance_blocking(2 * PAUSE);
        assert!(breaker.admit().is_ok());
        assert!(breaker.succeeded());
        assert!(!breaker.is_open() && breaker.admit().is_ok());
    }

    #[test]
    fn the_pause_doubles_up_to_the_longest() {
        let (time, breaker) = breaker(1, 5 * PAUSE);
        let mut pauses = Vec::new();
        for _ in 0..5 {
            let (_, pause) = breaker.crashed().expect("the breaker opens");
            time.advance_blocking(pause);
            breaker.admit().expect("the pause is over");
            pauses.push(pause);
        }
        assert_eq!(pauses, [1, 2, 4, 5, 5].map(|times| times * PAUSE));
    }

    #[test]
    fn a_call_that_does_not_end_is_followed_by_another_after_the_pause() {
        let (time, breaker) = breaker(1, 8 * PAUSE);
        breaker.crashed().expect("the breaker opens");
        for _ in 0..3 {
            time.advance_blocking(PAUSE);
            breaker.admit().expect("one call in each pause");
            assert!(breaker.admit().is_err());
        }
    }
}
