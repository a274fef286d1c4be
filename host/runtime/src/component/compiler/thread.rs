//! Compiles on a thread of the application.

use std::thread;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::artifact::Artifact;
use super::{CompileJob, result_of, timeout};
use crate::scheduling::threads::Threads;
use crate::{Error, ErrorKind, OrError};

/// The nice value of compiling on Unix: a serving thread that wants the same processor gets about nine times as much of
/// it.
#[cfg(unix)]
pub(super) const NICE: i32 = 10;

/// Compiles on a new thread. Nothing can end the thread, so it keeps its permit until it is done, even if the caller is
/// cancelled.
pub(super) async fn compile(
    job: CompileJob,
    time: Duration,
    permit: OwnedSemaphorePermit,
    threads: &Threads,
) -> Result<Artifact, Error> {
    let (done, result) = oneshot::channel();
    let work = move || {
        lower_priority();
        let compiled = Artifact::compile(job.settings, &job.component);
        let compiled = compiled.or_error(ErrorKind::Compile, "the component does not compile");
        // Before the result: then the next load finds the permit returned.
        drop(permit);
        // The load may have been cancelled.
        let _ = done.send(compiled);
    };
    thread::Builder::new()
        .name("pointwork-compile".to_owned())
        .spawn(work)
        .or_error(ErrorKind::Engine, "the compiling thread does not start")?;
    tokio::select! {
        biased;
        compiled = result_of(result) => compiled,
        error = timeout(threads, time) => Err(error),
    }
}

/// On Linux this is for the current thread. Elsewhere it would be for the whole process.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "compiling has the priority of serving");
    }
}
