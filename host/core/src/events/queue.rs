//! The queue of one channel's emitted events.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;

use crate::Executor;

/// How long the task that delivers a channel's events stays when none is left. Waking a task on another thread costs the
/// emitter more than the event itself, so events that follow within this time are delivered together.
const LINGER: Duration = Duration::from_millis(1);

/// From this length on a queue is delivered at once.
const BATCH: usize = 64;

/// Items in the order pushed, for the one task that empties it.
pub(crate) struct Queue<T>(Mutex<QueueState<T>>);

struct QueueState<T> {
    items: VecDeque<T>,
    /// Whether a task empties the queue.
    has_task: bool,
    /// Wakes that task while it lingers.
    lingering: Option<Waker>,
}

impl<T> QueueState<T> {
    fn is_due(&self) -> bool {
        self.items.len() >= BATCH
    }
}

impl<T> Default for Queue<T> {
    fn default() -> Self {
        Self(Mutex::new(QueueState {
            items: VecDeque::new(),
            has_task: false,
            lingering: None,
        }))
    }
}

impl<T> Queue<T> {
    /// Adds an item. Returns `true` if the queue has no task and needs one.
    pub(crate) fn push(&self, item: T) -> bool {
        let mut state = self.0.lock();
        state.items.push_back(item);
        let needs_task = !std::mem::replace(&mut state.has_task, true);
        let waker = if state.is_due() { state.lingering.take() } else { None };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        needs_task
    }

    /// The next item, as soon as there is one. `None` after [`LINGER`] without one: the queue then has no task any more.
    pub(crate) async fn next(&self, executor: &dyn Executor) -> Option<T> {
        if let Some(item) = self.0.lock().items.pop_front() {
            return Some(item);
        }
        // On a clock that tests control, an event that follows does not wait for time to pass.
        let linger = if executor.clock().is_real() {
            LINGER
        } else {
            Duration::ZERO
        };
        let mut timer = pin!(executor.sleep_until(executor.now() + linger));
        poll_fn(|cx| {
            let over = timer.as_mut().poll(cx).is_ready();
            let mut state = self.0.lock();
            if !over && !state.is_due() {
                state.lingering = Some(cx.waker().clone());
                return Poll::Pending;
            }
            state.lingering = None;
            let item = state.items.pop_front();
            state.has_task = item.is_some();
            Poll::Ready(item)
        })
        .await
    }
}
