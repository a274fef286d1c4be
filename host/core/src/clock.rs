//! The clock that the host's timers follow.
//!
//! Every duration that the host measures, and every deadline that the host waits for, comes from a [`Clock`]. A program has the
//! real clock: [`Clock::now`] is then [`Instant::now`] behind one predictable branch, and the executor or the server framework
//! makes the timers. A test gives the application and its adapters a clock with a [`TimeSource`]. Time then passes only when the
//! test says so.
//!
//! ```text
//!   program: Clock::real() ─ now ──────────► Instant::now
//!                          └ sleep_until ──► None ──► the caller makes a timer of its own executor
//!   test:    Clock::new(…) ─ now ──────────► TimeSource::now
//!                          └ sleep_until ──► TimeSource::sleep_until
//! ```
//!
//! The core knows no executor, so a real clock cannot make timers. Two types complete it: an [`Executor`](crate::Executor), which the
//! application owns, and [`Timers`], with which an adapter uses the timers of its server.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

/// A timer: completes at its deadline. Dropping the future cancels the timer.
pub type Sleep = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// The source of a clock that tests control.
pub trait TimeSource: fmt::Debug + Send + Sync + 'static {
    /// The current time.
    fn now(&self) -> Instant;

    /// Completes at `deadline`.
    fn sleep_until(&self, deadline: Instant) -> Sleep;

    /// The executor calls this function first on each of its threads. The source can thus find out whether the work that became
    /// due has run.
    fn register_thread(&self);
}

/// The clock of an application or a server: the real clock, or a clock that tests control.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<Arc<dyn TimeSource>>);

impl Clock {
    /// The real clock.
    pub const fn real() -> Self {
        Self(None)
    }

    /// A clock that tests control.
    pub fn new(source: Arc<dyn TimeSource>) -> Self {
        Self(Some(source))
    }

    /// Whether this is the real clock.
    pub fn is_real(&self) -> bool {
        self.0.is_none()
    }

    /// The current time.
    #[inline]
    #[expect(clippy::disallowed_methods, reason = "the real clock reads real time")]
    pub fn now(&self) -> Instant {
        match &self.0 {
            None => Instant::now(),
            Some(source) => source.now(),
        }
    }

    /// A timer of the source; `None` for the real clock.
    #[inline]
    pub fn sleep_until(&self, deadline: Instant) -> Option<Sleep> {
        self.0.as_ref().map(|source| source.sleep_until(deadline))
    }

    /// Calls `wake` at `deadline`, for a thread that waits without an executor; `None` for the real clock, with which the thread waits
    /// with a timeout. Dropping the result cancels the call.
    pub fn wake_at(&self, deadline: Instant, wake: impl Fn() + Send + Sync + 'static) -> Option<WakeTimer> {
        let mut timer = self.sleep_until(deadline)?;
        let waker = Waker::from(Arc::new(WakeFunction(wake)));
        if timer.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            waker.wake();
        }
        Some(WakeTimer { _timer: timer })
    }

    /// Tells the source of a thread of the executor. On the real clock this function does nothing.
    pub fn register_thread(&self) {
        if let Some(source) = &self.0 {
            source.register_thread();
        }
    }
}

/// A timer that calls a function; see [`Clock::wake_at`].
#[derive(derive_more::Debug)]
#[debug("WakeTimer")]
#[must_use = "a timer that is dropped calls nothing"]
pub struct WakeTimer {
    _timer: Sleep,
}

struct WakeFunction<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for WakeFunction<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

/// A clock together with the timers of one server framework.
#[derive(Clone, derive_more::Debug)]
pub struct Timers {
    clock: Clock,
    #[debug(skip)]
    real: fn(Instant) -> Sleep,
}

impl Timers {
    /// The timers of `clock`. `real` makes the timers of the real clock.
    pub fn new(clock: Clock, real: fn(Instant) -> Sleep) -> Self {
        Self { clock, real }
    }

    /// The current time.
    #[inline]
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Completes at `deadline`.
    pub fn sleep_until(&self, deadline: Instant) -> Sleep {
        self.clock
            .sleep_until(deadline)
            .unwrap_or_else(|| (self.real)(deadline))
    }

    /// Completes after `time`.
    pub fn sleep(&self, time: Duration) -> Sleep {
        self.sleep_until(self.now() + time)
    }

    /// Runs `work` for at most `time`; `None` if it did not complete. The timer is made only if the work is not done at the first
    /// poll.
    ///
    /// # Cancel safety
    /// That of `work`.
    pub async fn timeout<T>(&self, time: Duration, work: impl Future<Output = T>) -> Option<T> {
        let deadline = self.now() + time;
        until(|| self.sleep_until(deadline), work).await
    }
}

/// Runs `work` until the timer that `sleep` makes completes. The timer is made only if the work is not done at the first poll.
pub(crate) async fn until<T, S>(sleep: impl FnOnce() -> S, work: impl Future<Output = T>) -> Option<T>
where
    S: Future<Output = ()> + Unpin,
{
    let (mut work, mut sleep, mut timer) = (pin!(work), Some(sleep), None);
    poll_fn(|cx| {
        if let Poll::Ready(value) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(value));
        }
        if let Some(sleep) = sleep.take() {
            timer = Some(sleep());
        }
        match &mut timer {
            Some(timer) => Pin::new(timer).poll(cx).map(|()| None),
            None => Poll::Pending,
        }
    })
    .await
}

/// A clock for unit tests of this crate. Its timers wake nobody: a test polls what waits for them.
#[cfg(test)]
pub(crate) mod manual {
    use parking_lot::Mutex;

    use super::*;
    use crate::{BoxFuture, Executor};

    #[derive(Debug)]
    struct Time(Mutex<Instant>);

    impl TimeSource for Arc<Time> {
        fn now(&self) -> Instant {
            *self.0.lock()
        }

        fn sleep_until(&self, deadline: Instant) -> Sleep {
            let time = self.clone();
            Box::pin(poll_fn(move |_| {
                if time.now() < deadline {
                    Poll::Pending
                } else {
                    Poll::Ready(())
                }
            }))
        }

        fn register_thread(&self) {}
    }

    /// An executor with a clock that the test moves.
    #[derive(Debug)]
    pub(crate) struct ManualTime {
        time: Arc<Time>,
        pub(crate) clock: Clock,
    }

    impl ManualTime {
        pub(crate) fn new() -> Arc<Self> {
            let time = Arc::new(Time(Mutex::new(Clock::real().now())));
            let clock = Clock::new(Arc::new(time.clone()));
            Arc::new(Self { time, clock })
        }

        pub(crate) fn advance(&self, time: Duration) {
            *self.time.0.lock() += time;
        }
    }

    impl Executor for ManualTime {
        fn spawn(&self, _: BoxFuture<'static, ()>) {}

        fn clock(&self) -> &Clock {
            &self.clock
        }

        fn sleep_until(&self, instant: Instant) -> BoxFuture<'static, ()> {
            self.time.sleep_until(instant)
        }
    }
}
