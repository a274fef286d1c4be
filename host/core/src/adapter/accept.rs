//! Accepting connections: errors and a full server.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::AdapterState;
use crate::Timers;

/// The first wait after an error of the operating system; each further one doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(10);

/// The longest wait after an error of the operating system.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// The shortest time between two warnings that the server is full.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);

/// A loop that accepts connections: it tries again after errors, and warns when the server is full.
#[derive(Debug)]
pub struct AcceptLoop<T> {
    adapter: Arc<AdapterState<T>>,
    timers: Timers,
    wait: Duration,
    warned: Option<Instant>,
}

impl<T: Send + Sync + 'static> AcceptLoop<T> {
    /// A loop that has not begun.
    pub fn new(adapter: Arc<AdapterState<T>>, timers: Timers) -> Self {
        Self {
            adapter,
            timers,
            wait: Duration::ZERO,
            warned: None,
        }
    }

    /// The next connection that `accept` returns. After an error it waits and tries again; the first of several
    /// errors in a row, such as a process out of file descriptors, is reported (spec E1).
    ///
    /// # Cancel safety
    /// Cancel safe if `accept` is. The next call does not wait.
    pub async fn next<C, A>(&mut self, mut accept: impl FnMut() -> A) -> C
    where
        A: Future<Output = io::Result<C>>,
    {
        loop {
            match accept().await {
                Ok(connection) => {
                    self.wait = Duration::ZERO;
                    return connection;
                }
                Err(error) => {
                    if let Some(wait) = self.failed(&error) {
                        self.timers.sleep(wait).await;
                    }
                }
            }
        }
    }

    /// The time to wait before the next attempt; `None` if the client merely went away before its turn.
    fn failed(&mut self, error: &io::Error) -> Option<Duration> {
        use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return None;
        }
        if self.wait.is_zero() {
            let message = format!("no connection can be accepted, trying again: {error}");
            self.adapter.report(message);
        }
        self.wait = (self.wait * 2).clamp(FIRST_WAIT, LONGEST_WAIT);
        Some(self.wait)
    }

    /// Logs that all connections are in use, once in ten seconds at most.
    pub fn full(&mut self) {
        let now = self.timers.now();
        if self.warned.is_none_or(|time| now - time >= WARNING_INTERVAL) {
            self.warned = Some(now);
            let most = self.adapter.options().max_connections;
            tracing::warn!(
                adapter = self.adapter.name(),
                "all {most} connections are in use, further ones wait"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use futures_util::FutureExt as _;

    use super::*;
    use crate::{Clock, ServerOptions};

    #[test]
    fn the_wait_doubles_up_to_a_second_and_begins_anew() {
        let mut accepting = AcceptLoop::new(
            AdapterState::<()>::new("mine", ServerOptions::new()),
            Timers::new(Clock::real(), |_| Box::pin(ready(()))),
        );
        let mut failed = |kind: io::ErrorKind| accepting.failed(&kind.into()).map(|wait| wait.as_millis());
        assert_eq!(failed(io::ErrorKind::ConnectionAborted), None);
        let waits: Vec<_> = (0..9).filter_map(|_| failed(io::ErrorKind::Other)).collect();
        assert_eq!(waits, [10, 20, 40, 80, 160, 320, 640, 1000, 1000]);
        let next = accepting.next(|| ready(Ok(())));
        assert_eq!(next.now_or_never(), Some(()));
        assert_eq!(accepting.failed(&io::ErrorKind::Other.into()), Some(FIRST_WAIT));
    }
}
