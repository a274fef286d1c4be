//! Compiles in a worker process.

use std::process::Stdio;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::task::JoinHandle;

use super::artifact::Artifact;
use super::protocol::{ANSWER_HEAD, AnswerHead, RequestSettings, WorkerCode};
use super::{CompileJob, exit, result_of, timeout};
use crate::scheduling::threads::Threads;
use crate::{CompileOptions, Error, ErrorKind, OrError, Worker};

/// The last bytes of a worker's standard error that are kept.
const STDERR: usize = 4 * 1024;

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
            let _ = done.send(compiled.map(Artifact::from));
        }
    });
    result_of(result).await
}

fn start(worker: &Worker) -> Result<Child, Error> {
    let message = format!("the compile worker `{}` does not start", worker.program.display());
    Command::new(&worker.program)
        .args(&worker.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .or_error(ErrorKind::Compile, message)
}

async fn converse(child: &mut Child, job: CompileJob, options: &CompileOptions) -> Result<WorkerCode, Error> {
    let (Some(stdin), Some(stdout), Some(stderr)) = (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(Error::new(ErrorKind::Compile, "the compile worker has no pipes"));
    };
    let stderr = tokio::spawn(last_of(stderr));
    let settings = RequestSettings::new(&job, options);
    let answer = tokio::select! {
        answer = receive(stdout, options.memory) => answer?,
        () = send(stdin, settings, job.component) => None,
    };
    match answer {
        Some(compiled) => compiled,
        None => Err(ended(child, stderr, options).await),
    }
}

/// Sends the request. Then it never ends, and keeps the worker's input open: the end of that ends the worker.
async fn send(mut stdin: ChildStdin, settings: RequestSettings, component: Arc<[u8]>) {
    let head = settings.head(component.len());
    let sending = async {
        stdin.write_all(&head?).await?;
        stdin.write_all(&component).await?;
        stdin.flush().await
    };
    if let Err(error) = sending.await {
        // It ended, which its output shows too; or it closed its input, and its time will end it.
        tracing::debug!(%error, "the compile worker does not read its input");
    }
    std::future::pending().await
}

/// The answer of a worker; `None` if its output ends before the answer does.
async fn receive(mut stdout: ChildStdout, memory: u64) -> Result<Option<Result<WorkerCode, Error>>, Error> {
    let Some(head) = read_exactly(&mut stdout, ANSWER_HEAD as u64).await? else {
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
            "the compile worker announces {} bytes, its limit of memory is {memory}",
            head.length
        );
        return Err(Error::new(ErrorKind::Compile, message));
    }
    let content = read_exactly(&mut stdout, head.length).await?;
    Ok(content.map(|content| head.with(content)))
}

/// That many bytes, or `None` if there are fewer.
async fn read_exactly(stdout: &mut ChildStdout, length: u64) -> Result<Option<Vec<u8>>, Error> {
    let mut bytes = Vec::new();
    let read = stdout.take(length).read_to_end(&mut bytes).await;
    read.map_err(|error| {
        Error::new(ErrorKind::Compile, "the compile worker's output cannot be read").with_source(error)
    })?;
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
