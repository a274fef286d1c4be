//! The listener of trillium's server.

use std::io;
use std::sync::Arc;

use pointwork_core::adapter::{AcceptLoop, AdapterState};
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use trillium_server_common::Server;

use crate::socket::{Socket, timers};
use crate::tasks::Tasks;

/// The listener of trillium's server, which makes the adapter's sockets.
///
/// trillium-tokio's own makes sockets without timeouts, and trillium calls it in a loop without a pause when the process is
/// out of file descriptors.
pub(crate) struct Listener {
    state: Arc<AdapterState>,
    listener: TcpListener,
    accepting: AcceptLoop<()>,
    permits: Arc<Semaphore>,
}

impl Listener {
    pub(crate) fn new(state: Arc<AdapterState>, listener: TcpListener) -> Self {
        Self {
            listener,
            accepting: AcceptLoop::new(state.clone(), timers(state.options())),
            permits: Arc::new(Semaphore::new(state.options().max_connections)),
            state,
        }
    }

    /// Waits here, before it accepts, so that the backlog of the operating system holds the rest.
    async fn permit(&mut self) -> io::Result<OwnedSemaphorePermit> {
        if self.permits.available_permits() == 0 {
            self.accepting.full();
        }
        self.permits.clone().acquire_owned().await.map_err(io::Error::other)
    }
}

impl Server for Listener {
    type Transport = Socket;
    type Runtime = Tasks;
    type UdpTransport = ();

    /// The next connection, however long the operating system has none to give.
    async fn accept(&mut self) -> io::Result<Socket> {
        let permit = self.permit().await?;
        let listener = &self.listener;
        let accepted = self.accepting.next(|| listener.accept());
        let (stream, peer) = accepted.await;
        Ok(Socket::new(stream, peer, self.state.options(), permit))
    }

    fn runtime() -> Tasks {
        Tasks::default()
    }
}
