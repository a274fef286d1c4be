//! Compiling on a thread of the application.

use std::thread;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::artifact::Artifact;
use super::{Job, outcome, patience, sleep, took_too_long};
use crate::scheduling::threads::Threads;
use crate::{Error, ErrorKind};

/// How much lower than that of the threads which serve the priority of compiling is, on Unix: their share of a
/// processor that both want is about nine times as large.
pub(super) const NICE: i32 = 10;

/// Compiles on a thread of its own. Nothing can end it, so it keeps its place until it is done, whoever waits for it.
pub(super) async fn compile(
    job: Job,
    time: Duration,
    place: OwnedSemaphorePermit,
    threads: &Threads,
) -> Result<Artifact, Error> {
    let (done, result) = oneshot::channel();
    let work = move || {
        lower_priority();
        let compiled = Artifact::compile(job.settings, &job.component).map_err(|error| {
            Error::new(ErrorKind::Compile, "the component does not compile").with_source(error.into_boxed_dyn_error())
        });
        // Whoever comes next finds the place free.
        drop(place);
        // The load may have been cancelled.
        let _ = done.send(compiled);
    };
    thread::Builder::new()
        .name("pointwork-compile".to_owned())
        .spawn(work)
        .map_err(|error| Error::new(ErrorKind::Engine, "the compiling thread does not start").with_source(error))?;
    let patience = patience(time);
    tokio::select! {
        biased;
        compiled = outcome(result) => compiled,
        () = sleep(threads, patience) => Err(took_too_long(patience, time)),
    }
}

/// On Linux a thread has a priority of its own, and the calling one is meant; elsewhere it would be the whole process.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "compiling has the priority of serving");
    }
}
