//! The executor that the core is given.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use crate::Clock;
use crate::clock::until;

/// Far beyond the life of any connection or request, and near enough that no sum of times overflows.
pub(crate) const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs what outlives a request, and makes timers.
///
/// The core has no executor of its own; the runtime crate gives it one on tokio. All functions are called while a request
/// is polled, on any thread, and must not block.
pub trait Executor: Send + Sync + 'static {
    /// Runs the future to its end, on a thread of the executor's choice.
    fn spawn(&self, future: BoxFuture<'static, ()>);

    /// The clock that the timers follow. Default: the real clock.
    fn clock(&self) -> &Clock {
        static REAL: Clock = Clock::real();
        &REAL
    }

    /// The current time of the clock.
    fn now(&self) -> Instant {
        self.clock().now()
    }

    /// Completes at `instant`, give or take the executor's resolution; earlier once the executor has ended, which ends
    /// whatever waits. Dropping the future cancels the timer.
    fn sleep_until(&self, instant: Instant) -> BoxFuture<'static, ()>;
}

/// Runs `work` until a deadline; `None` if it passed. The timer is made only if the work is not done at the first poll.
///
/// # Cancel safety
/// As `work`'s own.
pub async fn within<T>(executor: &dyn Executor, deadline: Instant, work: impl Future<Output = T>) -> Option<T> {
    until(|| executor.sleep_until(deadline), work).await
}
