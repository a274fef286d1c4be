//! A process that runs tests: its output goes to a file, and it is ended if it hangs.

use std::fs::{self, File};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use wait_timeout::ChildExt as _;

/// A process that makes no progress for this long is ended.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// How a process ended.
#[derive(Debug)]
pub(crate) enum ProcessEnd {
    Exited(ExitStatus),
    /// The runner ended it after [`LONGEST_WAIT`] without progress.
    TimedOut {
        /// A line for each of its threads.
        threads: String,
    },
}

impl ProcessEnd {
    pub(crate) fn is_success(&self) -> bool {
        matches!(self, Self::Exited(status) if status.success())
    }

    /// A description for the report of a failure.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Exited(status) => match status.signal() {
                Some(signal) => format!("the process was ended by signal {signal}"),
                None => format!("the process ended with {status}"),
            },
            Self::TimedOut { threads } => format!(
                "the process made no progress for {} s and was ended; its threads:\n{threads}",
                LONGEST_WAIT.as_secs()
            ),
        }
    }
}

/// Runs a process to its end, with its output in `log`. `progress` returns a number that changes while the process makes progress.
pub(crate) fn run_to_end(mut command: Command, log: &Path, progress: impl Fn() -> u64) -> Result<ProcessEnd> {
    let file = File::create(log).with_context(|| log.display().to_string())?;
    // With a process group of its own the processes that it started end with it.
    command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file)
        .process_group(0);
    let mut child = command.spawn().with_context(|| format!("{command:?} does not start"))?;
    let mut before = progress();
    loop {
        if let Some(status) = child.wait_timeout(LONGEST_WAIT)? {
            return Ok(ProcessEnd::Exited(status));
        }
        let now = progress();
        if now == before {
            let threads = list_threads(child.id());
            end_group(&mut child)?;
            return Ok(ProcessEnd::TimedOut { threads });
        }
        before = now;
    }
}

/// Lists the threads of a process on Linux, one per line: name, state, processor time, and the kernel function in which the thread waits.
pub fn list_threads(process: u32) -> String {
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    tasks
        .into_iter()
        .flatten()
        .flatten()
        .map(|task| describe_thread(&task.path()))
        .collect()
}

fn describe_thread(task: &Path) -> String {
    let read = |file: &str| fs::read_to_string(task.join(file)).unwrap_or_default();
    let (status, schedule) = (read("status"), read("schedstat"));
    let field = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .map_or("?", str::trim)
    };
    let nanoseconds = schedule.split(' ').next().and_then(|time| time.parse().ok());
    let used = Duration::from_nanos(nanoseconds.unwrap_or(0));
    format!(
        "  {}: {}, used {used:?}, in {}\n",
        field("Name:"),
        field("State:"),
        read("wchan")
    )
}

fn end_group(child: &mut Child) -> Result<()> {
    let group = format!("-{}", child.id());
    let status = Command::new("kill").args(["-KILL", "--", &group]).status()?;
    if !status.success() {
        child.kill()?;
    }
    child.wait()?;
    Ok(())
}
