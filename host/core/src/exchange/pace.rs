//! The time that a client may take for the body of its request.

use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use crate::{BoxFuture, Executor};

/// The time over which the rate of a body counts.
const WINDOW: Duration = Duration::from_secs(10);

/// Limits the pauses of a body and the rate at which it arrives. Only the time during which somebody waits for it counts.
///
/// The rate is that of each ten seconds of waiting: so a short body may be slow, and a reader that is slow itself costs its
/// client nothing.
pub(crate) struct Pace {
    /// The longest pause.
    pause: Option<Duration>,
    /// Bytes in a window; 0 is unlimited.
    least: u64,
    executor: Arc<dyn Executor>,
    /// Bytes that arrived in this window.
    arrived: u64,
    /// The time of this window that was waited for them.
    waited: Duration,
    /// Present while somebody waits.
    waiting: Option<Waiting>,
}

struct Waiting {
    pause_ends: Option<Instant>,
    window_ends: Option<Instant>,
    timer: BoxFuture<'static, ()>,
}

impl Pace {
    /// `rate` is in bytes per second.
    pub(crate) fn new(pause: Option<Duration>, rate: u64, executor: Arc<dyn Executor>) -> Self {
        Self {
            pause,
            least: rate.saturating_mul(WINDOW.as_secs()),
            executor,
            arrived: 0,
            waited: Duration::ZERO,
            waiting: None,
        }
    }

    /// Somebody waits for the next chunk. Completes when the body is too late.
    pub(crate) fn poll_over(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let waiting = match &mut self.waiting {
            Some(waiting) => waiting,
            none => {
                let now = self.executor.now();
                let pause_ends = self.pause.map(|pause| now + pause);
                let window_ends = (self.least > 0).then(|| now + WINDOW.saturating_sub(self.waited));
                none.insert(Waiting::new(pause_ends, window_ends, &*self.executor))
            }
        };
        loop {
            ready!(waiting.timer.as_mut().poll(cx));
            let now = self.executor.now();
            // The executor's timer is earlier than asked once the executor ends, which ends the body as well.
            let window_is_over = waiting.window_ends.is_some_and(|end| end <= now);
            let pause_is_over = waiting.pause_ends.is_some_and(|end| end <= now);
            if pause_is_over || !window_is_over || self.arrived < self.least {
                return Poll::Ready(());
            }
            self.arrived = 0;
            *waiting = Waiting::new(waiting.pause_ends, Some(now + WINDOW), &*self.executor);
        }
    }

    /// The next chunk is there, or the end; or nobody waits any more.
    pub(crate) fn arrived(&mut self, bytes: u64) {
        self.arrived = self.arrived.saturating_add(bytes);
        if let Some(end) = self.waiting.take().and_then(|waiting| waiting.window_ends) {
            let left = end.saturating_duration_since(self.executor.now());
            self.waited = WINDOW.saturating_sub(left);
        }
    }
}

impl Waiting {
    fn new(pause_ends: Option<Instant>, window_ends: Option<Instant>, executor: &dyn Executor) -> Self {
        let first = pause_ends.into_iter().chain(window_ends).min();
        Self {
            pause_ends,
            window_ends,
            // One of them is there: a body without limits has no pace.
            timer: executor.sleep_until(first.unwrap_or_else(|| executor.now())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::clock::manual::ManualTime;

    const MOMENT: Duration = Duration::from_millis(1);

    fn is_over(pace: &mut Pace) -> bool {
        poll_fn(|cx| pace.poll_over(cx)).now_or_never().is_some()
    }

    fn pace(pause: Option<Duration>, rate: u64) -> (Arc<ManualTime>, Pace) {
        let time = ManualTime::new();
        (time.clone(), Pace::new(pause, rate, time))
    }

    #[test]
    fn a_window_with_fewer_bytes_than_the_rate_is_over() {
        for (bytes, over) in [(0, true), (9, true), (10, false), (11, false)] {
            let (time, mut pace) = pace(None, 1);
            pace.arrived(bytes);
            assert!(!is_over(&mut pace));
            time.advance(WINDOW - MOMENT);
            assert!(!is_over(&mut pace), "{bytes} bytes, before the end of the window");
            time.advance(MOMENT);
            assert_eq!(is_over(&mut pace), over, "{bytes} bytes");
        }
    }

    #[test]
    fn each_window_counts_its_own_bytes() {
        let (time, mut pace) = pace(None, 1);
        pace.arrived(1_000_000);
        assert!(!is_over(&mut pace));
        time.advance(WINDOW);
        assert!(!is_over(&mut pace));
        assert_eq!(pace.arrived, 0);
        time.advance(WINDOW);
        assert!(is_over(&mut pace), "nothing came in the second window");
    }

    #[test]
    fn only_the_time_of_waiting_counts() {
        let (time, mut pace) = pace(None, 1);
        assert!(!is_over(&mut pace));
        time.advance(WINDOW / 2);
        pace.arrived(0);
        assert_eq!(pace.waited, WINDOW / 2);
        time.advance(WINDOW);
        pace.arrived(0);
        assert_eq!(pace.waited, WINDOW / 2, "nobody waited meanwhile");
        assert!(!is_over(&mut pace));
        time.advance(WINDOW / 2);
        assert!(is_over(&mut pace), "both waits together fill the window");
    }

    #[test]
    fn a_pause_ends_within_a_window() {
        let pause = Duration::from_secs(1);
        let (time, mut pace) = pace(Some(pause), 1);
        pace.arrived(1_000_000);
        assert!(!is_over(&mut pace));
        time.advance(pause - MOMENT);
        assert!(!is_over(&mut pace));
        time.advance(MOMENT);
        assert!(is_over(&mut pace));
    }
}
