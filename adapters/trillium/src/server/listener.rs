//! Accepting connections.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};
use trillium::Info;
use trillium_server_common::Server;
use trillium_tokio::TokioUdpSocket;

use super::connections::Connections;
use super::io::Io;
use super::runtime::Inheriting;
use crate::adapter::Inner;

/// The shortest and the longest wait after the operating system refused to accept.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// How often at most the log says that there are too many connections.
const FULL_WARNING: Duration = Duration::from_secs(10);

/// trillium's server on tokio, with sockets of the adapter's.
///
/// trillium's own limit of connections answers 503 to those beyond it, and its own loop spins when the system is out of
/// file descriptors.
pub(crate) struct Listener {
    server: Arc<Inner>,
    listener: TcpListener,
    connections: Arc<Connections>,
    slots: Arc<Semaphore>,
    warned: Option<Instant>,
}

impl Listener {
    pub(crate) fn new(server: Arc<Inner>, listener: TcpListener, connections: Arc<Connections>) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(server.options.max_connections)),
            server,
            listener,
            connections,
            warned: None,
        }
    }

    /// Waits here, before it accepts, so that the backlog of the operating system holds the rest.
    async fn slot(&mut self) -> io::Result<OwnedSemaphorePermit> {
        if self.slots.available_permits() == 0 && self.warned.is_none_or(|time| time.elapsed() >= FULL_WARNING) {
            self.warned = Some(Instant::now());
            let most = self.server.options.max_connections;
            tracing::warn!(
                adapter = "trillium",
                "all {most} connections are in use, further ones wait"
            );
        }
        self.slots.clone().acquire_owned().await.map_err(io::Error::other)
    }

    /// The next connection, however long the operating system has none to give.
    async fn next(&self) -> TcpStream {
        let (mut wait, longest) = BACKOFF;
        let mut reported = false;
        loop {
            let error = match self.listener.accept().await {
                Ok((stream, _)) => return stream,
                Err(error) => error,
            };
            if is_of_the_client(&error) {
                continue;
            }
            if !reported {
                reported = true;
                let message = format!("no connection can be accepted, trying again: {error}");
                self.server.published.report(message);
            }
            sleep(wait).await;
            wait = (wait * 2).min(longest);
        }
    }
}

/// The client went away between its arrival and our turn.
fn is_of_the_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}

impl Server for Listener {
    type Transport = Io;
    type Runtime = Inheriting;
    type UdpTransport = TokioUdpSocket;

    async fn accept(&mut self) -> io::Result<Io> {
        let slot = self.slot().await?;
        let stream = self.next().await;
        Ok(Io::new(self.server.clone(), stream, self.connections.enter(Some(slot))))
    }

    fn init(&self, info: &mut Info) {
        if let Ok(address) = self.listener.local_addr() {
            info.insert_shared_state(address);
        }
    }

    fn runtime() -> Inheriting {
        Inheriting::new()
    }
}
