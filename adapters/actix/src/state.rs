//! The state of a connection, beside actix-http's own.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use pointwork_core::adapter::Deadlines;
use pointwork_core::{ServerOptions, Timers};
use tokio::time::sleep_until;

/// The longest time that a connection stays open after its last reply, for a client that still sends. Closing a socket
/// with unread bytes in it resets the connection, and the reset may overtake the reply.
pub(crate) const LINGER: Duration = Duration::from_millis(500);

/// The state of a connection: its deadlines, and how its replies end. It stays on the connection's thread.
///
/// actix-http limits the time for the first head of a connection and for an idle one, but not for a later head or for a
/// client that does not read.
pub(crate) struct ConnectionState {
    pub(crate) timers: Timers,
    pub(crate) deadlines: Deadlines,
    /// The client has closed its half of the connection.
    client_is_gone: Cell<bool>,
    in_flight: Cell<bool>,
    /// The reply is the last of its connection.
    is_last: Cell<bool>,
    /// The end of the connection is the end of the reply.
    is_unframed: Cell<bool>,
    /// The last reply is there, and another request came behind it.
    is_closing: Cell<bool>,
    /// All of the reply was handed to actix-http.
    is_whole: Cell<bool>,
}

/// The timers of a server with these options.
#[expect(clippy::disallowed_methods, reason = "the real clock takes its timers from tokio")]
pub(crate) fn timers(options: &ServerOptions) -> Timers {
    Timers::new(options.clock.clone(), |deadline| Box::pin(sleep_until(deadline.into())))
}

impl ConnectionState {
    /// The state of a new connection, which waits for the first byte.
    pub(crate) fn new(options: &ServerOptions) -> Rc<Self> {
        Rc::new(Self {
            timers: timers(options),
            deadlines: Deadlines::new(options),
            client_is_gone: Cell::default(),
            in_flight: Cell::default(),
            is_last: Cell::default(),
            is_unframed: Cell::default(),
            is_closing: Cell::default(),
            is_whole: Cell::default(),
        })
    }

    /// Notes a request. `None` if the connection has had its last reply, so that the request must not be answered.
    pub(crate) fn begin(self: &Rc<Self>) -> Option<InFlight> {
        if self.is_last.get() {
            self.is_closing.set(true);
            self.deadlines.await_head_within(LINGER);
            return None;
        }
        self.deadlines.await_nothing();
        self.in_flight.set(true);
        Some(InFlight(self.clone()))
    }

    pub(crate) fn reply_begins(&self, is_last: bool, is_unframed: bool) {
        self.is_last.set(is_last);
        self.is_unframed.set(is_unframed);
    }

    pub(crate) fn reply_is_whole(&self) {
        self.is_whole.set(true);
    }

    /// Notes that so many bytes were read; 0 is the end.
    pub(crate) fn note_read(&self, length: usize) {
        self.client_is_gone.set(length == 0);
        self.deadlines.note_read();
    }

    /// Whether the client is gone and a handler runs for it, or the last reply is there.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.client_is_gone.get() && (self.in_flight.get() || self.is_closing.get())
    }

    /// Whether the server's direction may end before the client has sent everything.
    pub(crate) fn may_shut_down(&self) -> bool {
        self.is_closing.get() && !self.in_flight.get()
    }

    /// Whether the end of the connection would make a broken reply look whole.
    pub(crate) fn has_to_reset(&self) -> bool {
        self.is_unframed.get() && (self.deadlines.is_stalled() || !self.is_whole.get())
    }
}

/// The request in flight; dropping it ends it.
pub(crate) struct InFlight(pub(crate) Rc<ConnectionState>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.set(false);
        self.0.deadlines.await_head();
    }
}
