//! The deadlines of a connection, and one timer for all of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use crate::{Clock, ServerOptions, Sleep, Timers};

/// Milliseconds after the connection was opened, or [`NEVER`].
type Deadline = AtomicU64;

const NEVER: u64 = u64::MAX;

/// The deadlines of one connection: for its next head, and for the client to take more bytes.
///
/// A timer for every request would cost more than routing does. So the parts of a connection only set a deadline here, and
/// one [`Timer`] for the whole connection reads it.
#[derive(Debug)]
pub struct Deadlines {
    clock: Clock,
    opened: Instant,
    header_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    head: Deadline,
    write: Deadline,
    has_begun: AtomicBool,
    is_stalled: AtomicBool,
}

impl Deadlines {
    /// The deadlines of a new connection, which waits for the first byte.
    pub fn new(options: &ServerOptions) -> Self {
        let deadlines = Self {
            opened: options.clock.now(),
            clock: options.clock.clone(),
            header_timeout: options.header_timeout,
            write_timeout: options.write_timeout,
            head: Deadline::new(NEVER),
            write: Deadline::new(NEVER),
            has_begun: AtomicBool::new(false),
            is_stalled: AtomicBool::new(false),
        };
        deadlines.set(&deadlines.head, options.first_byte_timeout);
        deadlines
    }

    fn set(&self, deadline: &Deadline, wait: Option<Duration>) {
        let end = wait.map_or(NEVER, |wait| self.millis(self.clock.now() + wait));
        deadline.store(end, Relaxed);
    }

    /// Rounded up, so that no deadline is early.
    fn millis(&self, instant: Instant) -> u64 {
        let since = instant.saturating_duration_since(self.opened).as_millis();
        u64::try_from(since).unwrap_or(NEVER).saturating_add(1)
    }

    /// The deadline that counts now.
    pub fn current(&self) -> Option<Instant> {
        let deadline = if self.is_stalled() { &self.write } else { &self.head };
        let millis = deadline.load(Relaxed);
        (millis != NEVER).then(|| self.opened + Duration::from_millis(millis))
    }

    /// Notes a read. The first one ends the wait for the first byte, and begins that for a head.
    pub fn note_read(&self) {
        if !self.has_begun.load(Relaxed) {
            self.has_begun.store(true, Relaxed);
            self.await_head();
        }
    }

    /// Sets the deadline for a head: the header timeout from now.
    pub fn await_head(&self) {
        self.set(&self.head, self.header_timeout);
    }

    /// Sets the deadline for a head: the header timeout from now, or this limit if it is shorter.
    pub fn await_head_within(&self, limit: Duration) {
        let timeout = self.header_timeout.map_or(limit, |timeout| timeout.min(limit));
        self.set(&self.head, Some(timeout));
    }

    /// Sets the deadline for a head, unless an earlier one is set already.
    pub fn await_head_by(&self, deadline: Instant) {
        self.head.fetch_min(self.millis(deadline), Relaxed);
    }

    /// Removes the deadline for a head.
    pub fn await_nothing(&self) {
        self.head.store(NEVER, Relaxed);
    }

    /// Whether there is a deadline for a head; never without a header timeout.
    pub fn awaits_head(&self) -> bool {
        self.head.load(Relaxed) != NEVER
    }

    /// Notes the result of a write: whether the client took bytes. While it takes none, its deadline for that counts alone.
    pub fn note_write(&self, moved: bool) {
        if !moved {
            if !self.is_stalled.swap(true, Relaxed) {
                self.set(&self.write, self.write_timeout);
            }
        } else if self.is_stalled() {
            self.is_stalled.store(false, Relaxed);
            // The client was not idle meanwhile: a handler may be done long before the client has the whole reply.
            if self.awaits_head() {
                self.await_head();
            }
        }
    }

    /// Whether the client takes no bytes for now.
    pub fn is_stalled(&self) -> bool {
        self.is_stalled.load(Relaxed)
    }
}

/// A timer for a deadline that moves with every request and rarely passes.
///
/// It starts a sleep when the last one fired, or when the deadline is before the end of that: nearly never for a connection
/// whose requests follow each other.
#[derive(derive_more::Debug)]
#[debug("Timer")]
pub struct Timer {
    timers: Timers,
    sleep: Option<(Instant, Sleep)>,
}

impl Timer {
    /// A timer without a deadline.
    pub fn new(timers: Timers) -> Self {
        Self { timers, sleep: None }
    }

    /// Completes when the deadline is over; `None` never is. Each poll may have another deadline; the last one counts.
    pub fn poll(&mut self, cx: &mut Context<'_>, deadline: Option<Instant>) -> Poll<()> {
        let Some(deadline) = deadline else {
            return Poll::Pending;
        };
        loop {
            let (end, sleep) = match &mut self.sleep {
                Some(sleep) if sleep.0 <= deadline => sleep,
                other => other.insert((deadline, self.timers.sleep_until(deadline))),
            };
            let end = *end;
            ready!(sleep.as_mut().poll(cx));
            self.sleep = None;
            if end == deadline {
                return Poll::Ready(());
            }
        }
    }
}
