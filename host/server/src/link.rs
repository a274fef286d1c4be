//! What the parts of one connection tell each other.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;

/// Milliseconds after the connection was opened; [`NEVER`] for no time at all.
type Due = AtomicU64;

const NEVER: u64 = u64::MAX;

/// The state of one connection beside hyper's own: when it has to end, and how to wake it.
///
/// A timer that every request sets anew would cost more than the routing does. So the parts of a connection only note
/// here by when something has to happen, and the connection's one timer looks here when it fires.
#[derive(Debug)]
pub(crate) struct Link {
    opened: Instant,
    head_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    head_due: Due,
    head_late: AtomicBool,
    stalled: AtomicBool,
    write_due: Due,
    streams: AtomicUsize,
    draining: AtomicBool,
    pub(crate) waker: AtomicWaker,
}

impl Link {
    pub(crate) fn new(head_timeout: Option<Duration>, write_timeout: Option<Duration>) -> Self {
        Self {
            opened: Instant::now(),
            head_timeout,
            write_timeout,
            head_due: Due::new(NEVER),
            head_late: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
            write_due: Due::new(NEVER),
            streams: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        }
    }

    fn after(&self, wait: Option<Duration>) -> u64 {
        wait.map_or(NEVER, |wait| self.millis(Instant::now() + wait))
    }

    /// Rounded up, so that nothing is late too early.
    fn millis(&self, instant: Instant) -> u64 {
        let since = instant.saturating_duration_since(self.opened).as_millis();
        u64::try_from(since).unwrap_or(NEVER).saturating_add(1)
    }

    /// When the connection's timer has to look here again.
    pub(crate) fn due(&self) -> Option<Instant> {
        let due = if self.stalled.load(Relaxed) {
            self.write_due.load(Relaxed)
        } else {
            self.head_due.load(Relaxed)
        };
        (due != NEVER).then(|| self.opened + Duration::from_millis(due))
    }

    /// The first byte has to come within this time.
    pub(crate) fn await_first_byte(&self, timeout: Option<Duration>) {
        self.head_due.store(self.after(timeout), Relaxed);
    }

    /// A head has to be complete within the timeout for heads, counted from now.
    pub(crate) fn await_head(&self) {
        self.head_due.store(self.after(self.head_timeout), Relaxed);
    }

    /// A head has to be complete by then, or sooner if that was already asked for.
    pub(crate) fn await_head_by(&self, deadline: Instant) {
        self.head_due.fetch_min(self.millis(deadline), Relaxed);
    }

    /// Whether a head is waited for; with no timeout for heads nobody notes it, and the answer is no.
    pub(crate) fn awaits_head(&self) -> bool {
        self.head_due.load(Relaxed) != NEVER
    }

    pub(crate) fn await_nothing(&self) {
        self.head_due.store(NEVER, Relaxed);
    }

    /// Tells whoever reads the head that it is late.
    pub(crate) fn head_is_late(&self) {
        self.await_nothing();
        self.head_late.store(true, Relaxed);
    }

    pub(crate) fn is_head_late(&self) -> bool {
        self.head_late.load(Relaxed)
    }

    /// The client takes no more bytes for now.
    pub(crate) fn write_stalled(&self) {
        if !self.stalled.swap(true, Relaxed) {
            self.write_due.store(self.after(self.write_timeout), Relaxed);
        }
    }

    /// The client took bytes. While it did not, it was not idle: in HTTP/2 a request is over for its handler long before the
    /// client has the reply.
    pub(crate) fn write_moved(&self) {
        if self.stalled.load(Relaxed) {
            self.stalled.store(false, Relaxed);
            if self.awaits_head() {
                self.await_head();
            }
        }
    }

    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled.load(Relaxed)
    }

    /// Whether a request in flight of HTTP/2 holds the connection open.
    pub(crate) fn has_streams(&self) -> bool {
        self.streams.load(Relaxed) != 0
    }

    pub(crate) fn stream_opened(&self) {
        self.streams.fetch_add(1, Relaxed);
        self.await_nothing();
    }

    pub(crate) fn stream_closed(&self) {
        if self.streams.fetch_sub(1, Relaxed) == 1 {
            self.await_head();
            self.waker.wake();
        }
    }

    /// The server ends: what is in flight ends too, then the connection closes.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Relaxed);
        self.waker.wake();
    }

    /// Whether [`drain`](Self::drain) was called; true once.
    pub(crate) fn take_drain(&self) -> bool {
        self.draining.load(Relaxed) && self.draining.swap(false, Relaxed)
    }
}
