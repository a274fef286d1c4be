//! What the parts of one connection tell each other.

use std::fmt;
use std::sync::atomic::{
    AtomicBool, AtomicU8, AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use pointwork_core::{BodyError, ServerOptions};

use crate::connections::Phase;
use crate::head::Arrival;

/// Milliseconds after the connection was opened; [`NEVER`] for no time at all.
type Due = AtomicU64;

const NEVER: u64 = u64::MAX;

/// The state of one connection beside actix-http's own: the request in flight, when it has to end, and how to wake it.
///
/// A timer that every request sets anew would cost more than the routing does. So the parts of a connection only note
/// here by when something has to happen, and the connection's one timer looks here when it fires.
pub(crate) struct Link {
    opened: Instant,
    head_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    head_due: Due,
    write_due: Due,
    stalled: AtomicBool,
    /// From the end of a request's head to the end of its reply. Only the thread of the connection changes it.
    in_flight: AtomicBool,
    /// The next request is there already.
    next_is_there: AtomicBool,
    phase: Arc<AtomicU8>,
    arrival: Mutex<Option<Arrival>>,
    body: RequestBody,
    reset: AtomicBool,
    /// Wakes the connection.
    pub(crate) waker: AtomicWaker,
}

/// What is known of the body of the request in flight.
#[derive(Default)]
struct RequestBody {
    /// All of it has been handed on.
    complete: AtomicBool,
    expects_continue: AtomicBool,
    continue_wanted: AtomicBool,
    broken: AtomicBool,
    error: Mutex<Option<BodyError>>,
    reader: AtomicWaker,
}

impl Link {
    pub(crate) fn new(options: &ServerOptions, phase: Arc<AtomicU8>) -> Self {
        let link = Self {
            opened: Instant::now(),
            head_timeout: options.header_timeout,
            write_timeout: options.write_timeout,
            head_due: Due::new(NEVER),
            write_due: Due::new(NEVER),
            stalled: AtomicBool::new(false),
            in_flight: AtomicBool::new(false),
            next_is_there: AtomicBool::new(false),
            phase,
            arrival: Mutex::default(),
            body: RequestBody::default(),
            reset: AtomicBool::new(false),
            waker: AtomicWaker::new(),
        };
        link.head_due.store(link.after(options.first_byte_timeout), Relaxed);
        link
    }

    pub(crate) fn phase(&self) -> Phase {
        Phase::of(&self.phase)
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
        let due = if self.is_stalled() {
            &self.write_due
        } else {
            &self.head_due
        };
        let due = due.load(Relaxed);
        (due != NEVER).then(|| self.opened + Duration::from_millis(due))
    }

    /// A head has to be complete within the timeout for heads, counted from now.
    pub(crate) fn await_head(&self) {
        self.head_due.store(self.after(self.head_timeout), Relaxed);
    }

    pub(crate) fn await_nothing(&self) {
        self.head_due.store(NEVER, Relaxed);
    }

    /// The client takes no more bytes for now.
    pub(crate) fn write_stalled(&self) {
        if !self.stalled.swap(true, Relaxed) {
            self.write_due.store(self.after(self.write_timeout), Relaxed);
        }
    }

    /// The client took bytes. While it did not, it was not idle.
    pub(crate) fn write_moved(&self) {
        if self.stalled.load(Relaxed) {
            self.stalled.store(false, Relaxed);
            if !self.is_in_flight() {
                self.await_head();
            }
        }
    }

    pub(crate) fn is_stalled(&self) -> bool {
        self.stalled.load(Relaxed)
    }

    /// A request begins, and the next one has to wait for its end.
    pub(crate) fn begin(&self, arrival: Arrival) {
        self.await_nothing();
        let body = &self.body;
        let (has_body, expects) = match &arrival {
            Arrival::Request(arrived) => (arrived.has_body, arrived.expects_continue),
            Arrival::Refused(_) => (false, false),
        };
        body.complete.store(!has_body, Relaxed);
        body.expects_continue.store(expects, SeqCst);
        body.continue_wanted.store(false, SeqCst);
        body.broken.store(false, SeqCst);
        *lock(&self.arrival) = Some(arrival);
        self.in_flight.store(true, SeqCst);
    }

    pub(crate) fn take_arrival(&self) -> Option<Arrival> {
        lock(&self.arrival).take()
    }

    /// The reply is written, or given up.
    fn end(&self) {
        self.in_flight.store(false, SeqCst);
        self.await_head();
        if self.next_is_there.swap(false, SeqCst) || self.phase() != Phase::Serving {
            self.waker.wake();
        }
    }

    /// Asks for a wake at the end of the request in flight.
    pub(crate) fn next_is_there(&self) {
        self.next_is_there.store(true, SeqCst);
    }

    pub(crate) fn is_in_flight(&self) -> bool {
        self.in_flight.load(SeqCst)
    }

    pub(crate) fn body_is_complete(&self) -> bool {
        self.body.complete.load(Relaxed)
    }

    pub(crate) fn body_completed(&self) {
        self.body.complete.store(true, Relaxed);
    }

    /// Nothing of the body will follow any more.
    pub(crate) fn break_body(&self, error: BodyError) {
        *lock(&self.body.error) = Some(error);
        self.body.broken.store(true, SeqCst);
        self.body.reader.wake();
    }

    pub(crate) fn body_is_broken(&self) -> bool {
        self.body.broken.load(SeqCst)
    }

    /// Whoever reads the body waits for more of it. The error is told once.
    pub(crate) fn await_body(&self, waker: &std::task::Waker) -> Result<(), BodyError> {
        if self.body.expects_continue.swap(false, SeqCst) {
            self.body.continue_wanted.store(true, SeqCst);
            self.waker.wake();
        }
        self.body.reader.register(waker);
        if self.body_is_broken() {
            return Err(lock(&self.body.error).take().unwrap_or(BodyError::Incomplete));
        }
        Ok(())
    }

    /// Whether the client is to be told to go on. Says so once.
    pub(crate) fn take_continue(&self) -> bool {
        self.body.continue_wanted.swap(false, SeqCst)
    }

    /// The body comes, or the reply does: the client need not be told to go on.
    pub(crate) fn forget_continue(&self) {
        self.body.expects_continue.store(false, SeqCst);
        self.body.continue_wanted.store(false, SeqCst);
    }

    /// The end of the connection must not look like the end of the reply.
    pub(crate) fn reset_at_the_end(&self) {
        self.reset.store(true, Relaxed);
    }

    pub(crate) fn ends_with_a_reset(&self) -> bool {
        self.reset.load(Relaxed)
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("phase", &self.phase())
            .field("in_flight", &self.is_in_flight())
            .finish_non_exhaustive()
    }
}

/// The request in flight; dropping it ends it.
pub(crate) struct InFlight(pub(crate) Arc<Link>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.end();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it holds one of them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
