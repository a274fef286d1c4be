//! The threads that the application brings along.

use std::future::Future;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::Instant;

use pointwork_core::{BoxFuture, Executor};
use tokio::runtime::{Builder, EnterGuard, Handle, Runtime};
use tokio::task::JoinHandle;

use crate::scheduling::meter::Lane;
use crate::{Error, ErrorKind};

/// Sets of threads beside those of the server framework: one for the application's own work (emitted events, what
/// handlers do after their reply), and two for guests that take long. A guest in an endless loop then shares its threads
/// with other such guests, never with a server's workers or a listener; and those of the slow lane run only when no other
/// thread wants the processor.
#[derive(Debug)]
pub(crate) struct Threads {
    work: Owned,
    fast: Owned,
    slow: Owned,
}

#[derive(Debug)]
struct Owned {
    handle: Handle,
    runtime: Mutex<Option<Runtime>>,
}

impl Owned {
    fn new(runtime: Runtime) -> Self {
        Self {
            handle: runtime.handle().clone(),
            runtime: Mutex::new(Some(runtime)),
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        let runtime = self.runtime.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(runtime) = runtime {
            // An application may be dropped inside an async function, where waiting for threads would panic.
            runtime.shutdown_background();
        }
    }
}

impl Threads {
    pub(crate) fn start() -> Result<Self, Error> {
        let failed = |error| Error::new(ErrorKind::Engine, "the application's threads do not start").with_source(error);
        let work = Builder::new_multi_thread()
            .thread_name("pointwork-work")
            .enable_all()
            .build()
            .map_err(failed)?;
        let guests = |name: &str| {
            let mut builder = Builder::new_multi_thread();
            // A guest that yields must let timers and sockets of its thread have their turn at once.
            builder.thread_name(name).enable_all().event_interval(1);
            builder
        };
        let fast = guests("pointwork-guest").build().map_err(failed)?;
        let slow = guests("pointwork-slow")
            .on_thread_start(give_way)
            .build()
            .map_err(failed)?;
        Ok(Self {
            work: Owned::new(work),
            fast: Owned::new(fast),
            slow: Owned::new(slow),
        })
    }

    /// Makes tokio's timers and sockets available to the thread until the result is dropped.
    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        self.fast.handle.enter()
    }

    /// Runs guest code.
    pub(crate) fn spawn_guest<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.spawn_in(Lane::Fast, future)
    }

    /// Runs guest code in a lane.
    pub(crate) fn spawn_in<T: Send + 'static>(
        &self,
        lane: Lane,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        match lane {
            Lane::Fast => self.fast.handle.spawn(future),
            Lane::Slow => self.slow.handle.spawn(future),
        }
    }

    /// Runs what is neither guest code nor blocks.
    pub(crate) fn spawn_work<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.work.handle.spawn(future)
    }

    /// Runs what blocks: compiling a component.
    pub(crate) fn spawn_blocking<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.work.handle.spawn_blocking(work)
    }
}

/// Makes the thread that runs this one that others go before. Where the system has no priorities for threads, it competes
/// like any other.
///
/// A nice value alone is not enough: such a thread is seldom given the processor, but may keep it for a while from others
/// that wake up.
fn give_way() {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: the parameters are a number, and on some systems more numbers that mean nothing here; they live until the
        // call is over. The thread is the one that runs this.
        let refused = unsafe {
            let none: libc::sched_param = std::mem::zeroed();
            libc::pthread_setschedparam(libc::pthread_self(), libc::SCHED_IDLE, &raw const none)
        };
        if refused != 0 {
            let error = std::io::Error::from_raw_os_error(refused);
            tracing::warn!("the slow lane has no low priority: {error}");
        }
    }
}

impl Executor for Threads {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        self.work.handle.spawn(future);
    }

    fn sleep_until(&self, instant: Instant) -> BoxFuture<'static, ()> {
        let handle = self.work.handle.clone();
        // The timer registers with whichever runtime is entered when it is made; the caller's may have none.
        let _entered = handle.enter();
        Box::pin(tokio::time::sleep_until(instant.into()))
    }
}
