//! Compiles components, within limits: on a thread of the application, or in a worker process.

mod artifact;
#[cfg(debug_assertions)]
mod debug;
mod exit;
mod process;
mod protocol;
mod slow;
mod thread;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pointwork_core::Executor;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use wasmtime::Engine;
use wasmtime::component::Component;

use self::artifact::{Artifact, fingerprint};
use crate::component::settings::CodeSettings;
use crate::scheduling::threads::Threads;
use crate::store::{CacheDirectory, CacheEntry};
use crate::{CompileOptions, Error, ErrorKind, OrError};

pub use self::worker::work;

/// Compiling has a low priority: this times its processor time is its limit by the clock.
const CLOCK_FACTOR: u32 = 4;

pub(crate) struct Compiler {
    options: CompileOptions,
    cache: Option<CacheDirectory>,
    permits: Arc<Semaphore>,
}

#[derive(Clone)]
struct CompileJob {
    settings: CodeSettings,
    /// The fingerprint of the engine that the code is for.
    fingerprint: u64,
    component: Bytes,
}

impl Compiler {
    /// # Errors
    /// Of a debug build, if the environment names a compiler that is none.
    pub(crate) fn new(options: CompileOptions, cache: Option<CacheDirectory>) -> Result<Self, Error> {
        #[cfg(debug_assertions)]
        let options = match debug::worker()? {
            Some(worker) => options.worker(worker),
            None => options,
        };
        let permits = options.at_once.clamp(1, Semaphore::MAX_PERMITS);
        Ok(Self {
            options,
            cache,
            permits: Arc::new(Semaphore::new(permits)),
        })
    }

    /// The size of the largest component, in bytes.
    pub(crate) fn largest(&self) -> usize {
        self.options.size
    }

    /// Refuses a component that is too large.
    pub(crate) fn check_size(&self, size: usize) -> Result<(), Error> {
        let limit = self.options.size;
        if size <= limit {
            return Ok(());
        }
        let message = format!("the component has {size} bytes, the limit is {limit}");
        Err(Error::new(ErrorKind::Compile, message)
            .with_hint("build it optimised and without debug information, or set a larger size for components"))
    }

    /// The compiled component, from the cache or compiled now. `engine` has these settings.
    ///
    /// # Errors
    /// [`Compile`](ErrorKind::Compile) if it does not compile, or not within the limits.
    ///
    /// # Cancel safety
    /// Cancelled, a worker is killed. A thread continues, and keeps its permit to compile.
    pub(crate) async fn component(
        &self,
        settings: CodeSettings,
        engine: &Engine,
        component: Bytes,
        threads: &Arc<Threads>,
    ) -> Result<Component, Error> {
        let job = CompileJob {
            settings,
            fingerprint: fingerprint(engine),
            component,
        };
        let entry = self.cache_entry(&job, threads).await?;
        if let Some(cached) = cached(entry.clone(), engine, threads).await? {
            return Ok(cached);
        }
        let permit = match self.permits.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                let permit = self.wait_for_permit(threads).await?;
                // The same component may have been compiled meanwhile.
                if let Some(cached) = cached(entry.clone(), engine, threads).await? {
                    return Ok(cached);
                }
                permit
            }
        };
        let artifact = match &self.options.worker {
            Some(worker) => process::compile(worker, job, &self.options, permit, threads).await?,
            None => thread::compile(job, self.options.time, permit, threads).await?,
        };
        let engine = engine.clone();
        let load = move || {
            let loaded = artifact.load(&engine);
            let component = loaded.or_error(ErrorKind::Compile, "the compiled component does not load")?;
            if let Some(entry) = entry {
                entry.write(artifact.bytes());
            }
            Ok(component)
        };
        threads.blocking(ErrorKind::Compile, load).await
    }

    /// The entry of the job in the cache, if there is a cache.
    async fn cache_entry(&self, job: &CompileJob, threads: &Threads) -> Result<Option<CacheEntry>, Error> {
        let Some(cache) = self.cache.clone() else {
            return Ok(None);
        };
        let job = job.clone();
        let hash = move || Ok(Some(cache.entry(job.fingerprint, &job.component)));
        threads.blocking(ErrorKind::Compile, hash).await
    }

    /// Waits no longer than a compilation may take: one that cannot be ended may never return its permit.
    async fn wait_for_permit(&self, threads: &Threads) -> Result<OwnedSemaphorePermit, Error> {
        let limit = clock_limit(self.options.time);
        tokio::select! {
            permit = self.permits.clone().acquire_owned() => {
                permit.or_error(ErrorKind::Engine, "the compiler has ended")
            }
            () = sleep(threads, limit) => {
                let message = format!(
                    "the component waited {limit:?} to be compiled: at most {} are compiled at once",
                    self.options.at_once.max(1)
                );
                Err(Error::new(ErrorKind::Compile, message).with_hint("load it again once the others are done"))
            }
        }
    }
}

/// The component in the cache; one that does not load is discarded.
async fn cached(entry: Option<CacheEntry>, engine: &Engine, threads: &Threads) -> Result<Option<Component>, Error> {
    let Some(entry) = entry else {
        return Ok(None);
    };
    let engine = engine.clone();
    let load = move || {
        let Some(found) = entry.read() else {
            return Ok(None);
        };
        let loaded = Artifact::from(found).load(&engine);
        let loaded = loaded.inspect_err(|error| entry.discard(&format_args!("{error:#}")));
        Ok(loaded.ok())
    };
    threads.blocking(ErrorKind::Compile, load).await
}

/// The limit by the clock for a compilation with this limit of processor time.
fn clock_limit(time: Duration) -> Duration {
    time.saturating_mul(CLOCK_FACTOR)
}

async fn sleep(executor: &dyn Executor, time: Duration) {
    match executor.now().checked_add(time) {
        Some(instant) => executor.sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// Ends when a compilation reaches its limit by the clock.
async fn timeout(executor: &dyn Executor, time: Duration) -> Error {
    let limit = clock_limit(time);
    sleep(executor, limit).await;
    let message = format!("the component does not compile within {limit:?}; its limit is {time:?} of processor time");
    Error::new(ErrorKind::Compile, message)
        .with_hint("a smaller or simpler component compiles sooner; or set a longer time for compiling")
}

/// The result that a task or a thread sends when it is done.
async fn result_of<T>(result: oneshot::Receiver<Result<T, Error>>) -> Result<T, Error> {
    let panicked = |_| Error::new(ErrorKind::Compile, "the compiler panicked");
    result.await.map_err(panicked)?
}

#[cfg(test)]
mod tests;
