//! What the core needs from whoever runs it.

use std::future::Future;
use std::pin::Pin;
use std::time::Instant;

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs what outlives a request, and wakes what waits for a time.
///
/// The core has no executor of its own; the runtime crate gives it one on tokio. Both functions are called from within
/// requests and must not block.
pub trait Executor: Send + Sync + 'static {
    /// Runs the future to its end, on a thread of the executor's choice.
    fn spawn(&self, future: BoxFuture<'static, ()>);

    /// Completes at `instant`, give or take the executor's resolution. Dropping the future cancels the timer.
    fn sleep_until(&self, instant: Instant) -> BoxFuture<'static, ()>;
}
