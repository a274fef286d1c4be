//! Compiles in a worker process.

use std::process::Stdio;
use std::sync::Arc;

use bytes::Bytes;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::task::JoinHandle;

use super::artifact::Artifact;
use super::protocol::{ANSWER, MAX_LINE, RequestSettings, WorkerAnswer};
use super::{CompileJob, exit, result_of, timeout};
use crate::scheduling::threads::Threads;
use crate::{CompileOptions, Error, ErrorKind, OrError, Worker};

/// The last bytes of a worker's standard error that are kept.
const STDERR: usize = 4 * 1024;

const UNREADABLE: &str = "the compile worker's output cannot be read";

/// Compiles in a worker process, which is killed if this is dropped.
pub(super) async fn compile(
    worker: &Worker,
    job: CompileJob,
    options: &CompileOptions,
    permit: OwnedSemaphorePermit,
    threads: &Arc<Threads>,
) -> Result<Artifact, Error> {
    let (mut done, result) = oneshot::channel();
    let (worker, options, executor) = (worker.clone(), options.clone(), threads.clone());
    // Processes need a tokio runtime, and the caller may have none.
    threads.spawn_work(async move {
        let mut child = match start(&worker) {
            Ok(child) => child,
            Err(error) => {
                let _ = done.send(Err(error));
                return;
            }
        };
        let compiled = tokio::select! {
            biased;
            compiled = converse(&mut child, job, &options) => Some(compiled),
            error = timeout(&*executor, options.time) => Some(Err(error)),
            () = done.closed() => None,
        };
        // The worker must have ended before another one gets its permit.
        if let Err(error) = child.kill().await {
            tracing::debug!(%error, "the compile worker cannot be killed");
        }
        drop(permit);
        if let Some(compiled) = compiled {
            // The load may have been cancelled just now.
            let _ = done.send(compiled);
        }
    });
    result_of(result).await
}

fn start(worker: &Worker) -> Result<Child, Error> {
    let message = format!("the compile worker `{}` does not start", worker.program.display());
    let mut command = Command::new(&worker.program);
    // Ctrl-C in a terminal is a signal to the application, which ends its worker.
    #[cfg(unix)]
    command.process_group(0);
    command
        .args(&worker.arguments)
        // Its last words are one line of a log.
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .or_error(ErrorKind::Compile, message)
}

async fn converse(child: &mut Child, job: CompileJob, options: &CompileOptions) -> Result<Artifact, Error> {
    let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(Error::new(ErrorKind::Compile, "the compile worker has no pipes"));
    };
    let stderr = tokio::spawn(last_of(stderr));
    let settings = RequestSettings {
        code: job.settings,
        fingerprint: job.fingerprint,
        time: options.time,
        memory: options.memory,
        component: job.component.len() as u64,
    };
    let code = tokio::select! {
        code = receive(stdout, options.memory) => code?,
        () = send(stdin, settings, job.component) => None,
    };
    match code {
        Some(code) => Ok(Artifact::of_worker(code)),
        None => Err(ended(child, stderr, options).await),
    }
}

/// Sends the request. Then it never ends, and keeps the worker's input open: the end of that ends the worker.
async fn send(mut stdin: ChildStdin, settings: RequestSettings, component: Bytes) {
    let sending = async {
        stdin.write_all(&settings.line()?).await?;
        stdin.write_all(&component).await?;
        stdin.flush().await
    };
    if let Err(error) = sending.await {
        // It ended, which its output shows too; or it closed its input, and its time will end it.
        tracing::debug!(%error, "the compile worker does not read its input");
    }
    std::future::pending().await
}

/// The code that a worker compiled; `None` if its output ends before the answer does.
async fn receive(stdout: ChildStdout, memory: u64) -> Result<Option<Vec<u8>>, Error> {
    let failed = |message: String| Error::new(ErrorKind::Compile, message);
    let mut stdout = BufReader::new(stdout);
    let Some(mut line) = read_exactly(&mut stdout, ANSWER.len() as u64).await? else {
        return Ok(None);
    };
    if line == ANSWER {
        let rest = (&mut stdout).take(MAX_LINE).read_until(b'\n', &mut line).await;
        rest.or_error(ErrorKind::Compile, UNREADABLE)?;
        if !line.ends_with(b"\n") {
            return Ok(None);
        }
    }
    let answer = line.strip_prefix(ANSWER).map(serde_json::from_slice);
    match answer {
        Some(Ok(WorkerAnswer::Code(length))) if length <= memory => read_exactly(&mut stdout, length).await,
        Some(Ok(WorkerAnswer::Code(length))) => Err(failed(format!(
            "the compile worker announces {length} bytes, its limit of memory is {memory}"
        ))),
        Some(Ok(WorkerAnswer::Error(causes))) => {
            let errors = causes.into_iter().rev().map(failed);
            let error = errors.reduce(|cause, error| error.with_source(cause));
            Err(error.unwrap_or_else(|| failed("the component does not compile".to_owned())))
        }
        Some(Err(error)) => Err(failed("the compile worker's answer cannot be read".to_owned()).with_source(error)),
        None => Err(failed(format!(
            "the compile worker answers `{}`, expected compiled code",
            String::from_utf8_lossy(&line).escape_debug()
        ))
        .with_hint("the program must run `pointwork::compile_worker` of the same build, and write nothing itself")),
    }
}

/// That many bytes, or `None` if there are fewer.
async fn read_exactly(stdout: &mut (impl AsyncRead + Unpin), length: u64) -> Result<Option<Vec<u8>>, Error> {
    let mut bytes = Vec::new();
    // Code of megabytes is not copied while it arrives. If the memory cannot be had at once, it is taken as the bytes arrive.
    bytes
        .try_reserve_exact(usize::try_from(length).unwrap_or_default())
        .ok();
    let read = stdout.take(length).read_to_end(&mut bytes).await;
    read.or_error(ErrorKind::Compile, UNREADABLE)?;
    Ok((bytes.len() as u64 == length).then_some(bytes))
}

/// Reads to the end, so that the worker never waits for the pipe, and returns the last bytes.
async fn last_of(mut stderr: ChildStderr) -> Vec<u8> {
    let mut last = Vec::new();
    while matches!(stderr.read_buf(&mut last).await, Ok(1..)) {
        let surplus = last.len().saturating_sub(STDERR);
        last.drain(..surplus);
    }
    last
}

async fn ended(child: &mut Child, stderr: JoinHandle<Vec<u8>>, options: &CompileOptions) -> Error {
    let status = child.wait().await;
    let stderr = stderr.await.unwrap_or_default();
    match status {
        Ok(status) => exit::explain(status, &String::from_utf8_lossy(&stderr), options),
        Err(error) => {
            Error::new(ErrorKind::Compile, "the exit status of the compile worker is unknown").with_source(error)
        }
    }
}
