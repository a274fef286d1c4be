//! The system calls of a process, by ptrace(2).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::fs::read_to_string;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::ptr::{null_mut, without_provenance_mut};
use std::thread;

use anyhow::{Context as _, Result, ensure};
use libc::{c_uint, pid_t};

const FORBIDDEN: &str = "no process can be traced: this test needs ptrace(2) of Linux 5.3 or later, which a container allows with SYS_PTRACE";

/// How often a thread with that name makes the system call with that number. The thread of the mark has no name here.
pub(crate) type Calls = BTreeMap<(String, i64), usize>;

/// What a process calls after a mark, up to the next.
#[derive(Default)]
pub(crate) struct Span {
    pub(crate) mark: u64,
    thread: pid_t,
    pub(crate) calls: Calls,
}

/// Marks that a span begins in this process, by a system call that nothing else makes. After 0 nothing is counted.
pub(crate) fn mark(number: i32) {
    // SAFETY: it has no conditions. It changes nothing.
    unsafe { libc::getpgid(number) };
}

/// Runs a process to its end, beside a function that gets its input and output, and returns what it calls.
pub(crate) fn trace<F>(mut command: Command, drive: F) -> Result<Vec<Span>>
where
    F: FnOnce(ChildStdin, ChildStdout) -> Result<()> + Send + 'static,
{
    // A thread of its own: only the thread that starts a process follows it, and the end of that thread ends the process.
    let tracing = thread::spawn(move || {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // SAFETY: between fork and exec this makes one system call, and allocates nothing.
        unsafe { command.pre_exec(|| ptrace(libc::PTRACE_TRACEME, 0, 0, null_mut())) };
        let mut process = command.spawn().context(FORBIDDEN)?;
        let input = process.stdin.take().context("no input")?;
        let output = process.stdout.take().context("no output")?;
        let driving = thread::spawn(move || drive(input, output));
        let spans = follow(pid_t::try_from(process.id())?)?;
        driving.join().expect("it does not panic")?;
        Ok(spans)
    });
    tracing.join().expect("it does not panic")
}

/// Follows the process, which this thread has started, to its end.
fn follow(process: pid_t) -> Result<Vec<Span>> {
    let (mut spans, mut known) = (vec![Span::default()], BTreeSet::new());
    loop {
        let mut status = 0;
        // SAFETY: the status lives until the call returns.
        let thread = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
        ensure!(thread > 0, "waitpid: {}", io::Error::last_os_error());
        if !libc::WIFSTOPPED(status) {
            if thread == process {
                ensure!(status == 0, "the traced process ended with the status {status:#x}");
                return Ok(spans);
            }
            known.remove(&thread);
            continue;
        }
        let is_new = known.insert(thread);
        if is_new && thread == process {
            let options = libc::PTRACE_O_TRACESYSGOOD | libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_EXITKILL;
            ptrace(
                libc::PTRACE_SETOPTIONS,
                thread,
                0,
                without_provenance_mut(options as usize),
            )
            .context(FORBIDDEN)?;
        }
        let signal = match libc::WSTOPSIG(status) {
            stop if stop == libc::SIGTRAP | 0x80 => {
                note(&mut spans, thread)?;
                0
            }
            // It tells of the new program, or of a new thread.
            libc::SIGTRAP => 0,
            libc::SIGSTOP if is_new => 0,
            signal => usize::try_from(signal)?,
        };
        // It fails if the process ends meanwhile.
        let _ = ptrace(libc::PTRACE_SYSCALL, thread, 0, without_provenance_mut(signal));
    }
}

/// Notes the system call that a thread enters.
fn note(spans: &mut Vec<Span>, thread: pid_t) -> Result<()> {
    // SAFETY: it consists of integers, for which zeros are valid.
    let mut call: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let told = ptrace(
        libc::PTRACE_GET_SYSCALL_INFO,
        thread,
        size_of_val(&call),
        (&raw mut call).cast(),
    );
    match told {
        Err(error) if error.raw_os_error() != Some(libc::ESRCH) => return Err(error).context(FORBIDDEN),
        Ok(()) if call.op == libc::PTRACE_SYSCALL_INFO_ENTRY => {}
        _ => return Ok(()),
    }
    // SAFETY: the kernel writes this part at an entry.
    let entry = unsafe { call.u.entry };
    let span = spans.last_mut().context("no span")?;
    let number = match i64::try_from(entry.nr)? {
        libc::SYS_getpgid => {
            let (mark, calls) = (entry.args[0], Calls::new());
            spans.push(Span { mark, thread, calls });
            return Ok(());
        }
        number => number,
    };
    if span.mark > 0 {
        let mut name = String::new();
        if thread != span.thread {
            name = read_to_string(format!("/proc/{thread}/comm"))?.trim().to_owned();
        }
        // The clock that interrupts guests ticks beside the requests.
        if name != "pointwork-epoch" {
            *span.calls.entry((name, number)).or_default() += 1;
        }
    }
    Ok(())
}

fn ptrace(request: c_uint, thread: pid_t, address: usize, data: *mut c_void) -> io::Result<()> {
    // SAFETY: the one request that writes to this process gets a value that lives, and its size.
    let done = unsafe { libc::ptrace(request, thread, without_provenance_mut::<c_void>(address), data) };
    if done < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
