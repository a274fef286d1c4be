//! The state of a connection, beside hyper's own.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use futures_util::task::AtomicWaker;
use pointwork_core::adapter::Deadlines;
use pointwork_core::{Peer, ServerOptions, Timers};
use socket2::SockRef;
use tokio::net::TcpStream;
use tokio::time::sleep_until;

use crate::unread::Unread;

/// The state of one connection: its peer, its deadlines, its requests in flight, and whether it is to end.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    pub(crate) timers: Timers,
    pub(crate) deadlines: Deadlines,
    pub(crate) peer: Peer,
    /// The replies of HTTP/2 that the client has not read.
    pub(crate) unread: Arc<Unread>,
    open_streams: AtomicUsize,
    is_draining: AtomicBool,
    /// The requests of HTTP/1 that the service got.
    requests: AtomicU64,
    /// Whether a reply of HTTP/1 is written in chunks.
    is_in_chunks: AtomicBool,
    /// A descriptor of the connection, where a client may leave unseen; see [`left`](crate::left).
    client: OnceLock<TcpStream>,
    pub(crate) waker: AtomicWaker,
}

impl ConnectionState {
    pub(crate) fn new(options: &ServerOptions, peer: SocketAddr) -> Arc<Self> {
        let timers = timers(options);
        Arc::new(Self {
            deadlines: Deadlines::new(options),
            peer: Peer::new(peer, false),
            unread: Arc::new(Unread::new(timers.clone())),
            timers,
            open_streams: AtomicUsize::new(0),
            is_draining: AtomicBool::new(false),
            requests: AtomicU64::new(0),
            is_in_chunks: AtomicBool::new(false),
            client: OnceLock::new(),
            waker: AtomicWaker::new(),
        })
    }

    /// Whether a request of HTTP/2 is in flight.
    pub(crate) fn has_open_streams(&self) -> bool {
        self.open_streams.load(Relaxed) != 0
    }

    /// The service gets a request of HTTP/1.
    pub(crate) fn request_begins(&self) {
        self.requests.fetch_add(1, Relaxed);
    }

    pub(crate) fn writes_chunks(&self, in_chunks: bool) {
        self.is_in_chunks.store(in_chunks, Relaxed);
    }

    /// Bytes have come behind that many messages.
    pub(crate) fn has_passed(&self, messages: u64, stream: &TcpStream) {
        let requests = self.requests.load(Relaxed);
        // Of a request that hyper has not seen, or beside a reply.
        let is_ahead = messages > requests || (messages == requests && self.is_in_chunks.load(Relaxed));
        if is_ahead
            && self.client.get().is_none()
            && let Ok(client) = SockRef::from(stream).try_clone()
            && let Ok(client) = TcpStream::from_std(client.into())
        {
            let _ = self.client.set(client);
        }
    }

    pub(crate) fn client(&self) -> Option<&TcpStream> {
        self.client.get()
    }

    /// The server shuts down: the requests in flight end, then the connection closes.
    pub(crate) fn drain(&self) {
        self.is_draining.store(true, Relaxed);
        self.waker.wake();
    }

    /// Whether [`drain`](Self::drain) was called; true once.
    pub(crate) fn take_drain(&self) -> bool {
        self.is_draining.load(Relaxed) && self.is_draining.swap(false, Relaxed)
    }
}

/// The timers of a server with these options.
#[expect(clippy::disallowed_methods, reason = "the real clock takes its timers from tokio")]
pub(crate) fn timers(options: &ServerOptions) -> Timers {
    Timers::new(options.clock.clone(), |deadline| Box::pin(sleep_until(deadline.into())))
}

/// A request of HTTP/2 in flight, the body of its reply included: the connection is not idle.
pub(crate) struct OpenStream(Arc<ConnectionState>);

impl OpenStream {
    pub(crate) fn new(state: Arc<ConnectionState>) -> Self {
        state.open_streams.fetch_add(1, Relaxed);
        state.deadlines.await_nothing();
        Self(state)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        if self.0.open_streams.fetch_sub(1, Relaxed) == 1 {
            self.0.deadlines.await_head();
            self.0.waker.wake();
        }
    }
}
