//! The signals that end a server.

use crate::error::{Error, Result};

/// Hears SIGINT and SIGTERM (on Windows, Ctrl-C) from the moment it is made; they do not end the process by themselves
/// any more.
pub(super) struct Signals(imp::Signals);

impl Signals {
    /// Begins to listen. Needs a tokio runtime.
    ///
    /// # Errors
    ///
    /// The system does not let the process listen.
    pub(super) fn install() -> Result<Self> {
        imp::Signals::install()
            .map(Self)
            .map_err(|error| Error::failed("cannot listen for signals").with_source(error))
    }

    /// The name of the next signal. Cancel safe.
    pub(super) async fn next(&mut self) -> &'static str {
        self.0.next().await
    }
}

#[cfg(unix)]
mod imp {
    use std::io;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    pub(super) struct Signals {
        interrupt: Signal,
        terminate: Signal,
    }

    impl Signals {
        pub(super) fn install() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
            })
        }

        pub(super) async fn next(&mut self) -> &'static str {
            tokio::select! {
                _ = self.interrupt.recv() => "SIGINT",
                _ = self.terminate.recv() => "SIGTERM",
            }
        }
    }
}

#[cfg(windows)]
mod imp {
    use std::io;

    use tokio::signal::windows::{CtrlC, ctrl_c};

    pub(super) struct Signals(CtrlC);

    impl Signals {
        pub(super) fn install() -> io::Result<Self> {
            ctrl_c().map(Self)
        }

        pub(super) async fn next(&mut self) -> &'static str {
            let _ = self.0.recv().await;
            "Ctrl-C"
        }
    }
}
