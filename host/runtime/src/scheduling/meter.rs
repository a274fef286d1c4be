//! The CPU meter: measures the processor time of guest code, chooses its priority, and ends it at its limit.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use cpu_time::ThreadTime;
use tokio::task::{AbortHandle, JoinError};

use crate::scheduling::call_history::{CallHistory, LoopingCall};
use crate::scheduling::fibers::GuestWork;
use crate::scheduling::threads::{Priority, Threads};

/// A time slice: a guest that runs for so long is interrupted, to yield or to be ended.
pub(crate) const SLICE: Duration = Duration::from_millis(10);

/// The processor time of a call at normal priority; past it, the call has low priority.
///
/// A call of a handler that is known to loop has one slice. One whose calls often crash has nothing, since each crash
/// costs a new instance.
const NORMAL_PRIORITY: Duration = Duration::from_millis(50);

thread_local! {
    /// Whether a guest on this thread used up its slice since [`take_slice_used`] was called last.
    static SLICE_USED: Cell<bool> = const { Cell::new(false) };
}

/// Notes that the guest on this thread used up its slice and yields.
pub(crate) fn slice_used() {
    SLICE_USED.set(true);
}

/// Whether a guest on this thread used up its slice since [`take_slice_used`] was called last.
pub(crate) fn is_slice_used() -> bool {
    SLICE_USED.get()
}

/// Whether a guest on this thread used up its slice since the last call of this function.
pub(crate) fn take_slice_used() -> bool {
    SLICE_USED.replace(false)
}

/// A future of guest code, with a meter.
pub(crate) struct Metered<T> {
    work: GuestWork<T>,
    limit: Duration,
    used: Duration,
    /// Whether a pause sets the meter to zero.
    resets: bool,
    priority: Priority,
    history: Arc<CallHistory>,
    /// There while it has low priority because of its own use.
    looping: Option<LoopingCall>,
}

/// How a run of a [`Metered`] future ended.
enum Progress<T> {
    Done(T),
    /// It continues at another priority.
    Reschedule(Metered<T>),
    /// It used more than its limit, and is dropped.
    OverLimit,
}

impl<T> Metered<T> {
    /// A call that has used so much already. All of its time counts.
    pub(crate) fn new(work: GuestWork<T>, used: Duration, limit: Duration, history: Arc<CallHistory>) -> Self {
        let mut metered = Self {
            work,
            limit,
            used,
            resets: false,
            priority: Priority::Normal,
            history,
            looping: None,
        };
        metered.choose_priority();
        metered
    }

    /// Counts only the time since the last pause, for a task without an end: the limit is for one CPU burst.
    pub(crate) fn per_burst(mut self) -> Self {
        self.resets = true;
        self
    }

    /// Returns whether the priority changed.
    fn choose_priority(&mut self) -> bool {
        let before = self.priority;
        let loops = self.history.loops();
        let over = self.used > if loops { Duration::ZERO } else { NORMAL_PRIORITY };
        self.priority = if over || self.history.crashes_often() {
            Priority::Low
        } else {
            Priority::Normal
        };
        if !over {
            self.looping = None;
        } else if self.looping.is_none() {
            self.looping = Some(self.history.looped());
        }
        self.priority != before
    }
}

/// Runs it to its end, at one priority after the other; `None` if it used more than its limit.
///
/// # Errors
/// If it panicked.
///
/// # Cancel safety
/// Cancelled, it is dropped.
pub(crate) async fn run_to_end<T: Send + 'static>(
    mut metered: Metered<T>,
    threads: &Threads,
) -> Result<Option<T>, JoinError> {
    loop {
        let running = threads.spawn_at(metered.priority, MeteredRun(Some(metered)));
        let _abort = AbortOnDrop(running.abort_handle());
        match running.await? {
            Progress::Done(output) => return Ok(Some(output)),
            Progress::Reschedule(rescheduled) => metered = rescheduled,
            Progress::OverLimit => return Ok(None),
        }
    }
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A [`Metered`] future at its priority, until it ends, its priority changes, or it is over its limit.
struct MeteredRun<T>(Option<Metered<T>>);

impl<T> Future for MeteredRun<T> {
    type Output = Progress<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Progress<T>> {
        let Some(metered) = &mut self.0 else {
            return Poll::Pending;
        };
        take_slice_used();
        // Reading the thread's clock is a system call, which a short burst does without.
        let begun = (!metered.resets || metered.priority == Priority::Low).then(ThreadTime::now);
        let polled = Pin::new(&mut metered.work).poll(cx);
        let slice_used = take_slice_used();
        if let Poll::Ready(output) = polled {
            return Poll::Ready(Progress::Done(output));
        }
        if metered.resets && !slice_used {
            metered.used = Duration::ZERO;
        } else {
            metered.used += begun.map_or(SLICE, |begun| begun.elapsed());
        }
        if metered.used > metered.limit {
            self.0 = None;
            return Poll::Ready(Progress::OverLimit);
        }
        if !metered.choose_priority() {
            return Poll::Pending;
        }
        self.0
            .take()
            .map_or(Poll::Pending, |metered| Poll::Ready(Progress::Reschedule(metered)))
    }
}
