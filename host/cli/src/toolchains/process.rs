//! Runs the program of a build, which ends with the command.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{mem, thread};

use parking_lot::Mutex;
#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};

use crate::error::{Error, OrFailed, Result};

/// The program that runs. A command builds one project at a time.
static RUNNING: Mutex<Running> = Mutex::new(Running::Nothing);

enum Running {
    Nothing,
    Program(Child),
    /// The command ends, and begins no further build.
    Stopped,
}

/// Ends the program that runs, if there is one. No other one starts after it.
pub(crate) fn stop() {
    if let Running::Program(mut program) = mem::replace(&mut *RUNNING.lock(), Running::Stopped) {
        // It may have ended already.
        kill(&mut program);
        let _ = program.wait();
    }
}

/// Ends a program with those that it runs, such as compilers, which are in its process group.
fn kill(program: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(program.id()).ok().and_then(Pid::from_raw)
        && kill_process_group(group, Signal::KILL).is_ok()
    {
        return;
    }
    let _ = program.kill();
}

/// From now on a program runs in a process group of its own: [`stop`] ends it with those that it runs, and Ctrl-C in a
/// terminal does not reach the program by itself.
pub(crate) fn run_in_process_group() {
    IN_PROCESS_GROUP.store(true, Ordering::Relaxed);
}

static IN_PROCESS_GROUP: AtomicBool = AtomicBool::new(false);

/// Writes what a program says to standard error, also if nobody reads it any more.
fn forward(mut from: ChildStderr) {
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let _ = io::stderr().write_all(&bytes[..length]);
    }
}

/// Runs a program to its end. `read` reads its standard output; what it writes to standard error goes to that of the command.
/// `cannot_run` is the error of a program that does not start.
pub(super) fn run<T>(
    mut command: Command,
    cannot_run: fn(io::Error) -> Error,
    read: impl FnOnce(ChildStdout) -> io::Result<Option<T>>,
) -> Result<(ExitStatus, io::Result<Option<T>>)> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    #[cfg(unix)]
    if IN_PROCESS_GROUP.load(Ordering::Relaxed) {
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
    }
    // A program may end when it cannot write, and shows its progress on a terminal alone.
    if !io::stderr().is_terminal() {
        command.stderr(Stdio::piped());
    }
    let (stdout, stderr) = {
        let mut running = RUNNING.lock();
        if matches!(*running, Running::Stopped) {
            return Err(Error::failed("the command ends, and builds nothing any more"));
        }
        let mut child = command.spawn().map_err(cannot_run)?;
        let output = (child.stdout.take(), child.stderr.take());
        *running = Running::Program(child);
        output
    };
    let output = thread::scope(|scope| {
        stderr.map(|stderr| scope.spawn(move || forward(stderr)));
        stdout.map_or(Ok(None), read)
    });
    let status = wait().or_failed(format_args!("cannot wait for `{}`", command.get_program().display()))?;
    Ok((status, output))
}

/// Waits for the program to end.
fn wait() -> io::Result<ExitStatus> {
    let mut running = RUNNING.lock();
    match &mut *running {
        Running::Program(child) => {
            let status = child.wait();
            *running = Running::Nothing;
            status
        }
        Running::Nothing | Running::Stopped => Err(io::ErrorKind::Interrupted.into()),
    }
}
