//! Compiling components, within bounds: on a thread of the application, or in a process of its own.

mod artifact;
mod death;
mod protocol;
mod thread;
mod work;
mod worker;

use std::sync::Arc;
use std::time::{Duration, Instant};

use pointwork_core::Executor;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot};
use wasmtime::Engine;
use wasmtime::component::Component;

use self::artifact::{Artifact, fingerprint};
use crate::app::options::{AppOptions, CompileOptions};
use crate::component::inspect::Form;
use crate::scheduling::threads::Threads;
use crate::store::{CacheDirectory, Entry};
use crate::{Error, ErrorKind};

pub use self::work::work;
pub use self::worker::Worker;

/// How many times as long as processor time a compilation may take by the clock: it has a low priority.
const PATIENCE: u32 = 4;

/// What compiled code depends on, beside the component and the version of wasmtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeSettings {
    pub(crate) form: Form,
    /// In bytes.
    pub(crate) stack: usize,
}

/// What compiles the components of an application.
pub(crate) struct Compiler {
    options: CompileOptions,
    cache: Option<CacheDirectory>,
    places: Arc<Semaphore>,
}

/// One component to be compiled.
#[derive(Clone)]
struct Job {
    settings: CodeSettings,
    /// That of the engine which the artifact is for.
    fingerprint: [u8; 32],
    component: Arc<[u8]>,
}

impl Compiler {
    pub(crate) fn new(options: &AppOptions) -> Self {
        let places = options.compile.at_once.clamp(1, Semaphore::MAX_PERMITS);
        Self {
            options: options.compile.clone(),
            cache: options.cache.clone(),
            places: Arc::new(Semaphore::new(places)),
        }
    }

    /// Refuses a component that is too large, before anything else is done with it.
    pub(crate) fn check_size(&self, size: usize) -> Result<(), Error> {
        let limit = self.options.size;
        if size <= limit {
            return Ok(());
        }
        let message = format!("the component has {size} bytes, and may have {limit}");
        Err(Error::new(ErrorKind::Compile, message)
            .with_hint("build it optimised and without debug information, or set a larger size for components"))
    }

    /// The compiled component, out of the cache or made now. `engine` has these settings.
    ///
    /// # Errors
    /// [`Compile`](ErrorKind::Compile) if it does not compile, or not within the bounds.
    ///
    /// # Cancel safety
    /// Cancelled, a worker is killed. A thread goes on, in its place among those that compile at a time.
    pub(crate) async fn component(
        &self,
        settings: CodeSettings,
        engine: &Engine,
        component: Arc<[u8]>,
        threads: &Arc<Threads>,
    ) -> Result<Component, Error> {
        let job = Job {
            settings,
            fingerprint: fingerprint(engine),
            component,
        };
        let entry = self.entry(&job, threads).await?;
        if let Some(found) = self.look_up(entry, engine, threads).await? {
            return Ok(found);
        }
        let place = match self.places.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(TryAcquireError::NoPermits) => {
                let place = self.wait_for_a_place(threads).await?;
                // The same component may have been compiled meanwhile.
                if let Some(found) = self.look_up(entry, engine, threads).await? {
                    return Ok(found);
                }
                place
            }
            Err(TryAcquireError::Closed) => return Err(closed()),
        };
        let artifact = match &self.options.worker {
            Some(worker) => worker::compile(worker, job, &self.options, place, threads).await?,
            None => thread::compile(job, self.options.time, place, threads).await?,
        };
        let (cache, engine) = (self.cache.clone(), engine.clone());
        blocking(threads, move || {
            let component = artifact.load(&engine).map_err(|error| {
                Error::new(ErrorKind::Compile, "the compiled component does not load")
                    .with_source(error.into_boxed_dyn_error())
            })?;
            if let (Some(cache), Some(entry)) = (cache, entry) {
                cache.store(&entry, artifact.bytes());
            }
            Ok(component)
        })
        .await
    }

    /// What the job is called in the cache, if there is one.
    async fn entry(&self, job: &Job, threads: &Threads) -> Result<Option<Entry>, Error> {
        if self.cache.is_none() {
            return Ok(None);
        }
        let job = job.clone();
        blocking(threads, move || Ok(Some(Entry::new(&job.fingerprint, &job.component)))).await
    }

    async fn look_up(
        &self,
        entry: Option<Entry>,
        engine: &Engine,
        threads: &Threads,
    ) -> Result<Option<Component>, Error> {
        let (Some(cache), Some(entry)) = (self.cache.clone(), entry) else {
            return Ok(None);
        };
        let engine = engine.clone();
        blocking(threads, move || {
            let Some(found) = cache.find(&entry) else {
                return Ok(None);
            };
            let path = found.path().to_owned();
            match Artifact::from(found).load(&engine) {
                Ok(component) => Ok(Some(component)),
                Err(error) => {
                    cache.distrust(&path, &*error.into_boxed_dyn_error());
                    Ok(None)
                }
            }
        })
        .await
    }

    /// Waits for as long as a compilation may take: one that cannot be ended may never leave its place.
    async fn wait_for_a_place(&self, threads: &Threads) -> Result<OwnedSemaphorePermit, Error> {
        let patience = patience(self.options.time);
        tokio::select! {
            place = self.places.clone().acquire_owned() => place.map_err(|_: AcquireError| closed()),
            () = sleep(threads, patience) => {
                let message = format!(
                    "the component waited {patience:?} for its turn: `{}` are compiled at a time",
                    self.places_count()
                );
                Err(Error::new(ErrorKind::Compile, message).with_hint("load it again once the others are done"))
            }
        }
    }

    fn places_count(&self) -> usize {
        self.options.at_once.max(1)
    }
}

/// Nothing closes the semaphore while the compiler lives.
fn closed() -> Error {
    Error::new(ErrorKind::Engine, "the compiler has ended")
}

/// How long a compilation may take by the clock.
fn patience(time: Duration) -> Duration {
    time.saturating_mul(PATIENCE)
}

async fn sleep(executor: &dyn Executor, time: Duration) {
    match Instant::now().checked_add(time) {
        Some(instant) => executor.sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// Runs what blocks on a thread for that.
pub(crate) async fn blocking<T: Send + 'static>(
    threads: &Threads,
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = threads.spawn_blocking(work).await;
    done.map_err(|error| Error::new(ErrorKind::Compile, "loading the component panicked").with_source(error))?
}

fn took_too_long(patience: Duration, time: Duration) -> Error {
    let message = format!("the component does not compile within {patience:?}: it may take {time:?} of processor time");
    Error::new(ErrorKind::Compile, message)
        .with_hint("a smaller or simpler component compiles sooner; or set a longer time for compiling")
}

/// The value that a task or a thread sends when it is done.
async fn outcome<T>(result: oneshot::Receiver<Result<T, Error>>) -> Result<T, Error> {
    result
        .await
        .map_err(|_| Error::new(ErrorKind::Compile, "the compiler panicked"))?
}

#[cfg(test)]
mod tests;
