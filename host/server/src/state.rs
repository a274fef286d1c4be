//! The state of a connection, beside hyper's own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use pointwork_core::ServerOptions;

/// Milliseconds after the connection was opened, or [`NEVER`].
type Deadline = AtomicU64;

const NEVER: u64 = u64::MAX;

/// The state of one connection: its deadlines, and whether it is to end.
///
/// A timer for every request would cost more than routing does. So the parts of a connection only set a deadline here, and
/// its one timer, in [`Deadlines`](crate::deadlines::Deadlines), reads it.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    opened: Instant,
    header_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    head_deadline: Deadline,
    write_deadline: Deadline,
    is_stalled: AtomicBool,
    open_streams: AtomicUsize,
    is_draining: AtomicBool,
    pub(crate) waker: AtomicWaker,
}

impl ConnectionState {
    /// The state of a new connection, which waits for the first byte.
    pub(crate) fn new(options: &ServerOptions) -> Arc<Self> {
        let state = Self {
            opened: Instant::now(),
            header_timeout: options.header_timeout,
            write_timeout: options.write_timeout,
            head_deadline: Deadline::new(NEVER),
            write_deadline: Deadline::new(NEVER),
            is_stalled: AtomicBool::new(false),
            open_streams: AtomicUsize::new(0),
            is_draining: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        };
        state.set(&state.head_deadline, options.first_byte_timeout);
        Arc::new(state)
    }

    fn set(&self, deadline: &Deadline, wait: Option<Duration>) {
        let end = wait.map_or(NEVER, |wait| self.millis(Instant::now() + wait));
        deadline.store(end, Relaxed);
    }

    /// Rounded up, so that no deadline is early.
    fn millis(&self, instant: Instant) -> u64 {
        let since = instant.saturating_duration_since(self.opened).as_millis();
        u64::try_from(since).unwrap_or(NEVER).saturating_add(1)
    }

    /// The deadline that counts now.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let deadline = if self.is_stalled() {
            &self.write_deadline
        } else {
            &self.head_deadline
        };
        let millis = deadline.load(Relaxed);
        (millis != NEVER).then(|| self.opened + Duration::from_millis(millis))
    }

    /// The next head has to be complete within the header timeout, counted from now.
    pub(crate) fn await_head(&self) {
        self.set(&self.head_deadline, self.header_timeout);
    }

    /// The next head has to be complete by then, or by an earlier deadline that is set already.
    pub(crate) fn await_head_by(&self, deadline: Instant) {
        self.head_deadline.fetch_min(self.millis(deadline), Relaxed);
    }

    /// Whether there is a deadline for a head; never without a header timeout.
    pub(crate) fn awaits_head(&self) -> bool {
        self.head_deadline.load(Relaxed) != NEVER
    }

    pub(crate) fn await_nothing(&self) {
        self.head_deadline.store(NEVER, Relaxed);
    }

    /// Notes the result of a write: whether the client took bytes.
    pub(crate) fn note_write(&self, moved: bool) {
        if !moved {
            if !self.is_stalled.swap(true, Relaxed) {
                self.set(&self.write_deadline, self.write_timeout);
            }
        } else if self.is_stalled() {
            self.is_stalled.store(false, Relaxed);
            // While the client took nothing it was not idle: in HTTP/2 a handler is done long before the client has the
            // whole reply.
            if self.awaits_head() {
                self.await_head();
            }
        }
    }

    /// Whether the client takes no bytes for now.
    pub(crate) fn is_stalled(&self) -> bool {
        self.is_stalled.load(Relaxed)
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
        state.await_nothing();
        Self(state)
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        if self.0.open_streams.fetch_sub(1, Relaxed) == 1 {
            self.0.await_head();
            self.0.waker.wake();
        }
    }
}
