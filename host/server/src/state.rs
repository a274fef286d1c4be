//! The state of a connection, beside hyper's own.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use futures_util::task::AtomicWaker;
use pointwork_core::adapter::Deadlines;
use pointwork_core::{Peer, ServerOptions};

use crate::unread::Unread;

/// The state of one connection: its peer, its deadlines, its requests in flight, and whether it is to end.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    pub(crate) deadlines: Deadlines,
    pub(crate) peer: Peer,
    /// The replies of HTTP/2 that the client has not read.
    pub(crate) unread: Arc<Unread>,
    open_streams: AtomicUsize,
    is_draining: AtomicBool,
    pub(crate) waker: AtomicWaker,
}

impl ConnectionState {
    pub(crate) fn new(options: &ServerOptions, peer: SocketAddr) -> Arc<Self> {
        Arc::new(Self {
            deadlines: Deadlines::new(options),
            peer: Peer::new(peer, false),
            unread: Arc::default(),
            open_streams: AtomicUsize::new(0),
            is_draining: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        })
    }

    /// Whether a request of HTTP/2 is in flight.
    pub(crate) fn has_open_streams(&self) -> bool {
        self.open_streams.load(Relaxed) != 0
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
