//! The threads of an application.

use std::num::NonZero;
use std::sync::{Arc, mpsc};
use std::thread;

use parking_lot::Mutex;
use tokio::runtime::{Builder, Runtime};

use crate::error::{Error, ErrorKind};

/// The threads of a [`Host`](crate::Host).
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Threads {
    /// The number of threads that serve connections and finish requests; `None` for one for each processor.
    pub workers: Option<usize>,
    /// The number of functions that run in threads of their own at a time ([`Runs::Blocking`](crate::Runs::Blocking));
    /// `None` for 64. Further calls wait.
    pub blocking: Option<usize>,
}

impl Threads {
    pub(crate) fn start(&self) -> Result<Runtime, Error> {
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        // The application has three pools of its own.
        room_for(self.workers.unwrap_or(processors).saturating_add(3 * processors))?;
        let mut builder = Builder::new_multi_thread();
        builder.enable_all().thread_name("pointwork-host");
        builder.max_blocking_threads(self.blocking.unwrap_or(64).max(1));
        if let Some(workers) = self.workers {
            builder.worker_threads(workers.max(1));
        }
        builder
            .build()
            .map_err(|error| Error::new(ErrorKind::Engine, "the application's threads do not start").with_source(error))
    }
}

/// Checks that so many threads can be started. Tokio panics if one of a runtime's does not start, and then waits
/// without end for those that did.
fn room_for(threads: usize) -> Result<(), Error> {
    let (begun, has_begun) = mpsc::channel();
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock();
    let start = |_| {
        let (begun, gate) = (begun.clone(), gate.clone());
        // The first allocation of a thread takes address space for more.
        let wait = move || {
            let _ = begun.send(());
            drop(gate.lock());
        };
        thread::Builder::new().name("pointwork-probe".to_owned()).spawn(wait)
    };
    let mut started = Vec::new();
    let failed = (0..threads).map(start).find_map(|thread| match thread {
        Ok(thread) => {
            started.push(thread);
            None
        }
        Err(error) => Some(error),
    });
    for _ in &started {
        let _ = has_begun.recv();
    }
    drop(closed);
    for thread in started {
        let _ = thread.join();
    }
    failed.map_or(Ok(()), |error| {
        let message = format!("the application's {threads} threads do not start");
        Err(Error::new(ErrorKind::Engine, message).with_source(error))
    })
}
