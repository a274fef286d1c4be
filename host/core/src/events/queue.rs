//! Emitted events on their way to be heard.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use http::StatusCode;

use crate::events::registry::{Delivery, Entry};
use crate::{Executor, Failure, FailureCode, Payload};

/// How long the task that hears a channel's events stays when there is none left. Waking a task on another thread costs
/// the emitter more than the event itself, so events that follow within this time are heard together.
const LINGER: Duration = Duration::from_millis(1);

/// So many events do not wait for the others.
const BATCH: usize = 64;

/// The emitted events of one channel that wait to be heard, in the order emitted.
#[derive(Default)]
pub(crate) struct Queue(Mutex<State>);

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    /// Whether a task empties the queue.
    has_task: bool,
    /// Wakes that task while it lingers.
    lingering: Option<Waker>,
    /// Whether an event came that must not wait for the others.
    hurry: bool,
}

impl State {
    /// Whether the events that wait have to be heard now.
    fn is_due(&self) -> bool {
        self.hurry || self.jobs.len() >= BATCH
    }

    fn pop(&mut self) -> Option<Job> {
        let job = self.jobs.pop_front();
        self.hurry &= !self.jobs.is_empty();
        job
    }
}

/// One emitted event.
pub(crate) struct Job {
    pub(crate) entry: Arc<Entry>,
    pub(crate) delivery: Delivery,
    pub(crate) payload: Payload,
}

impl Queue {
    /// Adds an event, unless `limit` events wait for the same listener. `true` if the queue needs a task.
    pub(crate) fn push(&self, job: Job, limit: usize) -> Result<bool, Failure> {
        let mut state = self.lock();
        if job.entry.waiting.load(Ordering::Relaxed) >= limit {
            let message = format!("the queue of `{}` is full with {limit} events", job.entry.name);
            let status = StatusCode::SERVICE_UNAVAILABLE;
            return Err(Failure::with_code(FailureCode::OVERLOADED, status, message));
        }
        job.entry.waiting.fetch_add(1, Ordering::Relaxed);
        // A client waits for whoever gets its context.
        state.hurry |= job.delivery.context.is_some();
        state.jobs.push_back(job);
        let needs_task = !std::mem::replace(&mut state.has_task, true);
        let waker = if state.is_due() { state.lingering.take() } else { None };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        Ok(needs_task)
    }

    /// The next event, as soon as there is one; `None` when none came for a while, and the queue has no task any more.
    pub(crate) async fn next(&self, executor: &Arc<dyn Executor>) -> Option<Job> {
        if let Some(job) = self.lock().pop() {
            return Some(job);
        }
        let mut patience = pin!(executor.sleep_until(Instant::now() + LINGER));
        poll_fn(|cx| {
            let over = patience.as_mut().poll(cx).is_ready();
            let mut state = self.lock();
            if !over && !state.is_due() {
                state.lingering = Some(cx.waker().clone());
                return Poll::Pending;
            }
            state.lingering = None;
            let job = state.pop();
            state.has_task = job.is_some();
            Poll::Ready(job)
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs `work` until a deadline, for which a timer is made only if the work is not done at once.
pub(crate) async fn within<T>(
    executor: &Arc<dyn Executor>,
    deadline: Instant,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    let mut timer = None;
    poll_fn(|cx| {
        if let Poll::Ready(value) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(value));
        }
        let timer = timer.get_or_insert_with(|| executor.sleep_until(deadline));
        timer.as_mut().poll(cx).map(|()| None)
    })
    .await
}
