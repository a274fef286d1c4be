//! Accepting connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep};
use trillium::Info;
use trillium_server_common::Server;

use crate::adapter::{Inner, NAME};
use crate::server::Tasks;
use crate::socket::Socket;

/// The shortest and the longest wait after the operating system refused to accept.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// How often at most the log says that there are too many connections.
const FULL_WARNING: Duration = Duration::from_secs(10);

/// The listener of trillium's server, which makes the adapter's sockets.
///
/// That of trillium-tokio has sockets without time limits, and trillium calls it in a loop without a pause when the
/// system is out of file descriptors.
pub(crate) struct Listener {
    inner: Arc<Inner>,
    listener: TcpListener,
    slots: Arc<Semaphore>,
    warned: Option<Instant>,
}

impl Listener {
    pub(crate) fn new(inner: Arc<Inner>, listener: TcpListener) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(inner.options.max_connections)),
            inner,
            listener,
            warned: None,
        }
    }

    /// Waits here, before it accepts, so that the backlog of the operating system holds the rest.
    async fn slot(&mut self) -> io::Result<OwnedSemaphorePermit> {
        if self.slots.available_permits() == 0 && self.warned.is_none_or(|time| time.elapsed() >= FULL_WARNING) {
            self.warned = Some(Instant::now());
            let most = self.inner.options.max_connections;
            tracing::warn!(adapter = NAME, "all {most} connections are in use, further ones wait");
        }
        self.slots.clone().acquire_owned().await.map_err(io::Error::other)
    }

    /// The next connection, however long the operating system has none to give.
    async fn next(&self) -> (TcpStream, SocketAddr) {
        let (mut wait, longest) = BACKOFF;
        let mut reported = false;
        loop {
            let error = match self.listener.accept().await {
                Ok(accepted) => return accepted,
                Err(error) => error,
            };
            if is_of_the_client(&error) {
                continue;
            }
            if !reported {
                reported = true;
                let message = format!("no connection can be accepted, trying again: {error}");
                self.inner.published.report(message);
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
    type Transport = Socket;
    type Runtime = Tasks;
    type UdpTransport = ();

    async fn accept(&mut self) -> io::Result<Socket> {
        let slot = self.slot().await?;
        let (stream, peer) = self.next().await;
        Ok(Socket::new(stream, peer, &self.inner.options, slot))
    }

    fn init(&self, info: &mut Info) {
        if let Ok(address) = self.listener.local_addr() {
            info.insert_shared_state(address);
        }
    }

    fn runtime() -> Tasks {
        Tasks::new()
    }
}
