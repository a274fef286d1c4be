//! Compiling in a process of its own.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use pointwork_core::Executor;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::task::JoinHandle;

use super::artifact::Artifact;
use super::protocol::{ANSWER_HEAD, AnswerHead, Compiled, Settings};
use super::{Job, death, outcome, patience, sleep, took_too_long};
use crate::app::options::CompileOptions;
use crate::scheduling::threads::Threads;
use crate::{Error, ErrorKind};

/// How much is kept of what a worker says on its standard error, in bytes: the end of it.
const NOISE: usize = 4 * 1024;

/// A program that compiles components: it runs [`compile_worker`](crate::compile_worker) and ends.
///
/// It is started for each component, and must be of the same build as the application: the same program with another
/// argument, as a rule. It is killed once its time is over or nobody waits for it any more.
///
/// # Examples
/// ```no_run
/// if std::env::args().nth(1).as_deref() == Some("compile-worker") {
///     return pointwork::compile_worker();
/// }
/// let mut options = pointwork::AppOptions::default();
/// let program = std::env::current_exe().expect("the program has a path");
/// options.compile.worker = Some(pointwork::Worker::new(program).argument("compile-worker"));
/// let app = pointwork::App::with_options(options)?;
/// # Ok::<(), pointwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Worker {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl Worker {
    /// A program without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}

/// Compiles in a process of its own. Dropped, the process is killed.
pub(super) async fn compile(
    worker: &Worker,
    job: Job,
    options: &CompileOptions,
    place: OwnedSemaphorePermit,
    threads: &Arc<Threads>,
) -> Result<Artifact, Error> {
    let (mut done, result) = oneshot::channel();
    let (worker, options, executor) = (worker.clone(), options.clone(), threads.clone());
    // On the application's own threads: processes need a runtime of tokio's, and the caller may have none.
    threads.spawn(Box::pin(async move {
        let mut child = match start(&worker) {
            Ok(child) => child,
            Err(error) => {
                let _ = done.send(Err(error));
                return;
            }
        };
        let patience = patience(options.time);
        let compiled = tokio::select! {
            biased;
            compiled = converse(&mut child, job, &options) => Some(compiled),
            () = sleep(&*executor, patience) => Some(Err(took_too_long(patience, options.time))),
            () = done.closed() => None,
        };
        // It has nothing more to say, and must be gone before another one takes its place.
        if let Err(error) = child.kill().await {
            tracing::debug!(%error, "the compile worker cannot be killed");
        }
        drop(place);
        if let Some(compiled) = compiled {
            // The load may have been cancelled just now.
            let _ = done.send(compiled.map(Artifact::of_worker));
        }
    }));
    outcome(result).await
}

fn start(worker: &Worker) -> Result<Child, Error> {
    Command::new(&worker.program)
        .args(&worker.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| {
            let message = format!("the compile worker `{}` does not start", worker.program.display());
            Error::new(ErrorKind::Compile, message).with_source(error)
        })
}

async fn converse(child: &mut Child, job: Job, options: &CompileOptions) -> Result<Compiled, Error> {
    let (Some(input), Some(output), Some(errors)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(Error::new(ErrorKind::Compile, "the compile worker has no pipes"));
    };
    let noise = tokio::spawn(listen(errors));
    let settings = Settings::new(&job, options);
    let answer = tokio::select! {
        answer = receive(output, options.memory) => answer?,
        () = request(input, settings, job.component) => None,
    };
    match answer {
        Some(compiled) => compiled,
        None => Err(died(child, noise, options).await),
    }
}

/// Asks, and then holds the worker's input open for as long as anybody waits for the answer.
async fn request(mut input: ChildStdin, settings: Settings, component: Arc<[u8]>) {
    let head = settings.head(component.len());
    let asked = async {
        input.write_all(&head?).await?;
        input.write_all(&component).await?;
        input.flush().await
    };
    if let Err(error) = asked.await {
        // It ended, which its output tells as well, or has closed its input, whose end is what time is for.
        tracing::debug!(%error, "the compile worker does not listen");
    }
    std::future::pending().await
}

/// What a worker answers; `None` if its output ends before its answer does.
async fn receive(mut output: ChildStdout, memory: u64) -> Result<Option<Result<Compiled, Error>>, Error> {
    let Some(head) = whole(&mut output, ANSWER_HEAD as u64).await? else {
        return Ok(None);
    };
    let parsed = <&[u8; ANSWER_HEAD]>::try_from(&*head).ok().and_then(AnswerHead::parse);
    let Some(head) = parsed else {
        let message = format!(
            "the compile worker answers `{}`, expected compiled code",
            String::from_utf8_lossy(&head).escape_debug()
        );
        return Err(Error::new(ErrorKind::Compile, message).with_hint(
            "the program must run `pointwork::compile_worker` of the same build, and write nothing itself",
        ));
    };
    if head.length > memory {
        let message = format!(
            "the compile worker announces {} bytes, and may take {memory}",
            head.length
        );
        return Err(Error::new(ErrorKind::Compile, message));
    }
    let content = whole(&mut output, head.length).await?;
    Ok(content.map(|content| head.with(content)))
}

/// So many bytes, or `None` if there are fewer.
async fn whole(output: &mut ChildStdout, length: u64) -> Result<Option<Vec<u8>>, Error> {
    let mut bytes = Vec::new();
    let read = output.take(length).read_to_end(&mut bytes).await;
    read.map_err(|error| Error::new(ErrorKind::Compile, "the compile worker cannot be heard").with_source(error))?;
    Ok((bytes.len() as u64 == length).then_some(bytes))
}

/// Reads to the end, so that the worker never waits for room, and keeps the last of it.
async fn listen(mut errors: ChildStderr) -> Vec<u8> {
    let mut noise = Vec::new();
    // What cannot be read is not told.
    let _ = tail(&mut errors, &mut noise).await;
    noise
}

async fn tail(errors: &mut (impl AsyncRead + Unpin), noise: &mut Vec<u8>) -> std::io::Result<()> {
    while errors.read_buf(noise).await? > 0 {
        let surplus = noise.len().saturating_sub(NOISE);
        noise.drain(..surplus);
    }
    Ok(())
}

async fn died(child: &mut Child, noise: JoinHandle<Vec<u8>>, options: &CompileOptions) -> Error {
    let status: std::io::Result<ExitStatus> = child.wait().await;
    let noise = noise.await.unwrap_or_default();
    match status {
        Ok(status) => death::explain(status, &String::from_utf8_lossy(&noise), options),
        Err(error) => Error::new(ErrorKind::Compile, "nobody knows how the compile worker ended").with_source(error),
    }
}
