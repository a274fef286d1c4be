//! The signals that end a server.

use std::io;
use std::time::{Duration, Instant};

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};
#[cfg(windows)]
use tokio::signal::windows::{CtrlC, ctrl_c};

use crate::error::{Error, Result};

/// The time within which two signals are one.
const SAME_CAUSE: Duration = Duration::from_millis(200);

/// SIGINT, SIGTERM and SIGHUP (on Windows, Ctrl-C). From the moment it is created they do not end the process by
/// themselves.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: Signal,
    #[cfg(unix)]
    terminate: Signal,
    /// `None` if the process was started with it ignored, as `nohup` does.
    #[cfg(unix)]
    hangup: Option<Signal>,
    #[cfg(windows)]
    interrupt: CtrlC,
}

impl Signals {
    /// Begins to listen, within a tokio runtime.
    pub(crate) fn install() -> io::Result<Self> {
        Ok(Self {
            #[cfg(unix)]
            interrupt: signal(SignalKind::interrupt())?,
            #[cfg(unix)]
            terminate: signal(SignalKind::terminate())?,
            #[cfg(unix)]
            hangup: if is_hangup_ignored() {
                None
            } else {
                Some(signal(SignalKind::hangup())?)
            },
            #[cfg(windows)]
            interrupt: ctrl_c()?,
        })
    }

    /// The result of a step before the server runs; `None` if a signal came first. The step is dropped then.
    pub(crate) async fn unless_one_comes<T>(&mut self, step: impl Future<Output = Result<T>>) -> Result<Option<T>> {
        tokio::select! {
            // Ctrl-C in a terminal ends cargo too, which is no failure then.
            biased;
            name = self.next() => {
                tracing::info!("{name}: the server ends before it listens");
                Ok(None)
            }
            done = step => done.map(Some),
        }
    }

    /// The graceful end of the server, which a second signal cuts. One that comes at once is of the same cause: `timeout` and
    /// terminals send a signal to the process and to its group.
    pub(crate) async fn unless_second_cuts(&mut self, ending: impl Future<Output = ()>) -> Result<()> {
        let first = Instant::now();
        let second = async {
            loop {
                let name = self.next().await;
                if first.elapsed() > SAME_CAUSE {
                    return name;
                }
            }
        };
        tokio::select! {
            () = ending => Ok(()),
            name = second => {
                Err(Error::failed(format!("a second signal, {name}, cut the requests in flight")))
            }
        }
    }

    /// The name of the next signal. Cancel safe.
    pub(crate) async fn next(&mut self) -> &'static str {
        #[cfg(unix)]
        tokio::select! {
            _ = self.interrupt.recv() => "SIGINT",
            _ = self.terminate.recv() => "SIGTERM",
            () = received(self.hangup.as_mut()) => "SIGHUP",
        }
        #[cfg(windows)]
        {
            self.interrupt.recv().await;
            "Ctrl-C"
        }
    }
}

/// Ends when the signal arrives; never without one. Cancel safe.
#[cfg(unix)]
async fn received(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether the process was started with SIGHUP ignored. Only Linux tells.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // SIGHUP is the signal 1, the lowest bit.
    ignored
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .is_some_and(|mask| mask & 1 == 1)
}
