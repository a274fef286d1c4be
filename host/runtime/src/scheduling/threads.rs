//! The scheduler threads of an application.

use std::cell::Cell;
use std::future::{Future, poll_fn, ready};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use futures_util::future::select;
use parking_lot::Mutex;
use pointwork_core::{BoxFuture, Clock, Executor};
use tokio::runtime::{Builder, EnterGuard, Handle, Runtime};
use tokio::task::JoinHandle;

use crate::scheduling::signals::leave_file_size;
use crate::{Error, ErrorKind, OrError};

/// The priority of guest code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    Normal,
    /// Runs only when no thread of normal priority wants the processor.
    Low,
}

/// Longer than any wait.
const A_YEAR: Duration = Duration::from_hours(365 * 24);

thread_local! {
    /// Whether this is a thread of [`Threads`].
    static IS_SCHEDULER: Cell<bool> = const { Cell::new(false) };
}

/// Runs work that blocks the thread. Another thread runs the tasks of a scheduler thread meanwhile.
pub(super) fn hand_tasks_over<T>(work: impl FnOnce() -> T) -> T {
    if IS_SCHEDULER.get() {
        tokio::task::block_in_place(work)
    } else {
        work()
    }
}

/// Three thread pools, beside the threads of the server framework: one for the application's own work (emitted events,
/// and what handlers do after their reply), and one for guests of each priority.
///
/// A guest in an endless loop shares its threads with other such guests, never with a server's workers or a listener.
#[derive(Debug)]
pub(crate) struct Threads {
    clock: Clock,
    ended: Arc<AtomicBool>,
    work: ThreadPool,
    normal: ThreadPool,
    low: ThreadPool,
}

#[derive(Debug)]
struct ThreadPool {
    handle: Handle,
    runtime: Mutex<Option<Runtime>>,
}

impl ThreadPool {
    fn start(builder: &mut Builder) -> Result<Self, Error> {
        let runtime = builder.enable_all().build();
        let runtime = runtime.or_error(ErrorKind::Engine, "the application's threads do not start")?;
        Ok(Self {
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
        })
    }

    fn join(&self, time: Duration) {
        let runtime = self.runtime.lock().take();
        if let Some(runtime) = runtime {
            runtime.shutdown_timeout(time);
        }
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.get_mut().take() {
            // An application may be dropped inside an async function, where waiting for threads would panic.
            runtime.shutdown_background();
        }
    }
}

impl Threads {
    pub(crate) fn start(clock: Clock) -> Result<Self, Error> {
        let pool = |name: &str, begin: fn()| {
            let clock = clock.clone();
            let mut builder = Builder::new_multi_thread();
            builder.thread_name(name).on_thread_start(move || {
                IS_SCHEDULER.set(true);
                clock.register_thread();
                // The application writes files on `pointwork-work`. On the other threads wasmtime writes the memory image of a module to an
                // anonymous file, and guests write to granted directories.
                leave_file_size();
                begin();
            });
            builder
        };
        // With an interval of 1, timers and sockets of the thread run as soon as a guest yields.
        Ok(Self {
            ended: Arc::default(),
            work: ThreadPool::start(&mut pool("pointwork-work", || ()))?,
            normal: ThreadPool::start(pool("pointwork-guest", || ()).event_interval(1))?,
            low: ThreadPool::start(pool("pointwork-slow", lower_priority).event_interval(1))?,
            clock,
        })
    }

    /// Ends all threads and waits for them: each pool for that time at most. Tasks are dropped where they wait; whoever waits
    /// for a timer goes on at once. Blocks.
    pub(crate) fn join(&self, time: Duration) {
        // A timer that is polled after the end of its runtime panics.
        self.ended.store(true, Ordering::Relaxed);
        for pool in [&self.low, &self.normal, &self.work] {
            pool.join(time);
        }
    }

    /// Makes tokio's timers and sockets available to the thread until the result is dropped.
    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        self.normal.handle.enter()
    }

    /// The number of threads of normal priority: that of the processors.
    pub(crate) fn processors(&self) -> usize {
        self.normal.handle.metrics().num_workers()
    }

    /// Runs guest code.
    pub(crate) fn spawn_at<T: Send + 'static>(
        &self,
        priority: Priority,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        match priority {
            Priority::Normal => self.normal.handle.spawn(future),
            Priority::Low => self.low.handle.spawn(future),
        }
    }

    /// Runs work of the application that does not block.
    pub(crate) fn spawn_work<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.work.handle.spawn(future)
    }

    /// Runs work that blocks: files, linking. Cancelled, the work still runs to its end.
    ///
    /// # Errors
    /// Those of the work; an error of that kind if it panics; [`Closed`](ErrorKind::Closed) after the end of the threads.
    pub(crate) async fn blocking<T: Send + 'static>(
        &self,
        kind: ErrorKind,
        work: impl FnOnce() -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let done = self.work.handle.spawn_blocking(work).await;
        if done.is_err() && self.ended.load(Ordering::Relaxed) {
            return Err(Error::closed());
        }
        done.or_error(kind, "a task of the application did not end")?
    }
}

impl Executor for Threads {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        self.work.handle.spawn(future);
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn sleep_until(&self, instant: Instant) -> BoxFuture<'static, ()> {
        match self.clock.sleep_until(instant) {
            None => self.real_sleep(instant),
            // A timer of the threads completes when the threads end.
            Some(sleep) => Box::pin(select(sleep, self.real_sleep(Clock::real().now() + A_YEAR)).map(drop)),
        }
    }
}

impl Threads {
    /// A timer of the real clock.
    #[expect(clippy::disallowed_methods, reason = "the real clock makes its timers here")]
    fn real_sleep(&self, instant: Instant) -> BoxFuture<'static, ()> {
        let ended = self.ended.clone();
        if ended.load(Ordering::Relaxed) {
            return Box::pin(ready(()));
        }
        let handle = self.work.handle.clone();
        // The timer registers with the runtime that is entered when it is made; the caller may have entered none.
        let _entered = handle.enter();
        let sleep = tokio::time::sleep_until(instant.into());
        Box::pin(async move {
            let mut sleep = pin!(sleep);
            poll_fn(|cx| {
                if ended.load(Ordering::Relaxed) {
                    return Poll::Ready(());
                }
                // The runtime may end between that look and this poll, which then panics.
                match catch_unwind(AssertUnwindSafe(|| sleep.as_mut().poll(cx))) {
                    Ok(polled) => polled,
                    Err(_) if ended.load(Ordering::Relaxed) => Poll::Ready(()),
                    Err(panic) => resume_unwind(panic),
                }
            })
            .await;
        })
    }
}

/// Gives the current thread the policy `SCHED_IDLE`. On other systems it competes like any other thread.
///
/// A nice value alone is not enough: a thread with one seldom gets the processor, but then may keep it for a while from
/// others that wake up.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: `sched_param` consists of integers, for which zeros are valid; it lives until the call returns. The
        // thread is the current one.
        let refused = unsafe {
            let none: libc::sched_param = std::mem::zeroed();
            libc::pthread_setschedparam(libc::pthread_self(), libc::SCHED_IDLE, &raw const none)
        };
        if refused != 0 {
            let error = std::io::Error::from_raw_os_error(refused);
            tracing::warn!("the priority of a guest's thread cannot be lowered: {error}");
        }
    }
}
