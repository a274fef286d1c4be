//! The timers of a clock.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::test_clock::ClockState;

/// The timers that have not completed, and the time.
#[derive(Debug)]
pub(crate) struct TimerQueue {
    pub(crate) now: Instant,
    created: u64,
    /// By deadline and order of creation. The waker is there once the timer was polled.
    pending: BTreeMap<(Instant, u64), Option<Waker>>,
}

impl TimerQueue {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            now,
            created: 0,
            pending: BTreeMap::new(),
        }
    }

    /// Adds a timer, and returns its place among those of the same deadline.
    pub(crate) fn add(&mut self, deadline: Instant) -> u64 {
        self.created += 1;
        self.pending.insert((deadline, self.created), None);
        self.created
    }

    /// Moves the time to the next deadline, or to `end` if no deadline comes before. Returns the wakers of the timers that are due,
    /// and whether the time has come to `end`.
    pub(crate) fn step(&mut self, end: Instant) -> (Vec<Waker>, bool) {
        let future = |(deadline, _): &&(Instant, u64)| *deadline > self.now;
        let next = self.pending.keys().find(future).map(|(deadline, _)| *deadline);
        let next = next.filter(|next| *next <= end);
        self.now = next.unwrap_or(end.max(self.now));
        let due = self
            .pending
            .iter_mut()
            .take_while(|((deadline, _), _)| *deadline <= self.now);
        let wakers = due.filter_map(|(_, waker)| waker.take()).collect();
        (wakers, next.is_none())
    }

    /// The remaining times of the timers that are not due.
    pub(crate) fn remaining(&self) -> Vec<Duration> {
        let deadlines = self.pending.keys().map(|(deadline, _)| *deadline);
        let future = deadlines.filter(|deadline| *deadline > self.now);
        future.map(|deadline| deadline - self.now).collect()
    }
}

/// One timer.
#[derive(Debug)]
pub(crate) struct TestSleep {
    clock: Arc<ClockState>,
    key: (Instant, u64),
}

impl TestSleep {
    pub(crate) fn new(clock: Arc<ClockState>, deadline: Instant, id: u64) -> Self {
        Self {
            clock,
            key: (deadline, id),
        }
    }
}

impl Future for TestSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let waker = Some(cx.waker().clone());
        let mut timers = self.clock.timers.lock();
        let is_due = self.key.0 <= timers.now;
        let before = if is_due {
            timers.pending.remove(&self.key)
        } else {
            timers.pending.insert(self.key, waker)
        };
        drop(timers);
        // The waker may own another timer of this clock.
        drop(before);
        if is_due { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for TestSleep {
    fn drop(&mut self) {
        // The guard of the lock is dropped before the waker, which may own another timer of this clock.
        let waker = self.clock.timers.lock().pending.remove(&self.key);
        drop(waker);
    }
}
