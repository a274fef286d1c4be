//! The CPU meter: measures the processor time of guest code, chooses its priority, and ends it at its limit.

#![expect(
    clippy::disallowed_methods,
    reason = "the meter compares processor time with real time"
)]

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};

use cpu_time::ThreadTime;
use tokio::task::{AbortHandle, JoinError};

use crate::scheduling::call_history::{CallHistory, LoopingCall};
use crate::scheduling::threads::{Priority, Threads};

/// A time slice: a guest that runs for so long is interrupted, to yield or to be ended.
pub(crate) const SLICE: Duration = Duration::from_millis(10);

/// The processor time of a call at normal priority; past it, the call has low priority, until it has waited for as
/// long as it computed beyond that.
///
/// A call of a handler that is known to loop has one slice. One whose calls often crash has nothing, since each crash
/// costs a new instance.
pub(crate) const NORMAL_PRIORITY: Duration = Duration::from_millis(50);

/// A slice at low priority that took so long, and hardly any processor time, found the processors taken by others.
const STARVED: Duration = Duration::from_millis(200);

/// A guest goes on for a moment after it was asked whether its time is used up.
const ROUNDING: Duration = Duration::from_millis(1);

/// The part of that time which the call then has at normal priority, so that every call comes to its end. Each thread of low
/// priority takes no more than this part of a processor from others, whatever the number of calls.
const RELIEF: u32 = 25;

thread_local! {
    /// Whether a guest on this thread used up its slice since [`take_slice_used`] was called last.
    static SLICE_USED: Cell<bool> = const { Cell::new(false) };
    /// The processor time that is left to the metered guest which this thread polls; `None` without such a guest.
    static LEFT: Cell<Option<TimeLeft>> = const { Cell::new(None) };
}

/// The processor time that is left to a guest.
#[derive(Clone, Copy)]
struct TimeLeft {
    time: Duration,
    /// The thread's clock at the beginning of its turn; `None` if each turn counts as a slice.
    begun: Option<ThreadTime>,
}

/// Whether the guest on this thread, whose slice ends, has used up its processor time. If it traps now, the trap tells where it is; the
/// meter ends it without.
pub(crate) fn is_limit_used() -> bool {
    LEFT.get()
        .is_some_and(|left| left.begun.map_or(SLICE, |begun| begun.elapsed()) + ROUNDING >= left.time)
}

/// Polls a guest whose first slice is not metered, perhaps within another guest.
pub(crate) fn unmetered<T>(poll: impl FnOnce() -> T) -> T {
    let outer = LEFT.take();
    let polled = poll();
    LEFT.set(outer);
    polled
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

/// A future that polls guest code, with a meter.
pub(crate) struct Metered<W> {
    work: W,
    limit: Duration,
    used: Duration,
    /// The part of it that no pause made up for.
    burst: Duration,
    /// When the last pause began, unless a pause sets the meter to zero.
    paused: Option<Instant>,
    /// Whether a pause sets the meter to zero.
    resets: bool,
    priority: Priority,
    history: Arc<CallHistory>,
    /// There while it has low priority because of its own use.
    looping: Option<LoopingCall>,
    /// It has normal priority until its burst is so long, see [`RELIEF`].
    relieved_until: Duration,
}

/// How a run of a [`Metered`] future ended.
enum Progress<W: Future> {
    Done(W::Output),
    /// It continues at another priority.
    Reschedule(Metered<W>),
    /// It used more than its limit, and is dropped.
    OverLimit,
}

impl<W> Metered<W> {
    /// A call that has used so much already. All of its time counts.
    pub(crate) fn new(work: W, used: Duration, limit: Duration, history: Arc<CallHistory>) -> Self {
        let mut metered = Self {
            work,
            limit,
            used,
            burst: used,
            paused: None,
            resets: false,
            priority: Priority::Normal,
            history,
            looping: None,
            relieved_until: Duration::ZERO,
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
        let over = self.burst >= if loops { SLICE } else { NORMAL_PRIORITY };
        let is_slow = over || self.history.crashes_often();
        self.priority = if is_slow && self.burst >= self.relieved_until {
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
pub(crate) async fn run_to_end<W: Future<Output: Send> + Unpin + Send + 'static>(
    mut metered: Metered<W>,
    threads: &Threads,
) -> Result<Option<W::Output>, JoinError> {
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
struct MeteredRun<W>(Option<Metered<W>>);

impl<W: Future + Unpin> Future for MeteredRun<W> {
    type Output = Progress<W>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Progress<W>> {
        let Some(metered) = &mut self.0 else {
            return Poll::Pending;
        };
        if let Some(paused) = metered.paused.take() {
            metered.burst = metered.burst.saturating_sub(paused.elapsed());
            if metered.choose_priority() {
                return self.reschedule();
            }
        }
        take_slice_used();
        // Reading the thread's clock is a system call, which a short burst does without.
        let is_low = metered.priority == Priority::Low;
        let begun = (!metered.resets || is_low).then(|| (ThreadTime::now(), Instant::now()));
        LEFT.set(Some(TimeLeft {
            time: metered.limit.saturating_sub(metered.used),
            begun: begun.map(|(cpu, _)| cpu),
        }));
        let polled = Pin::new(&mut metered.work).poll(cx);
        LEFT.set(None);
        let slice_used = take_slice_used();
        if let Poll::Ready(output) = polled {
            return Poll::Ready(Progress::Done(output));
        }
        let (used, took) = begun.map_or((SLICE, SLICE), |(cpu, wall)| (cpu.elapsed(), wall.elapsed()));
        metered.used += used;
        metered.burst += used;
        if !slice_used {
            metered.relieved_until = Duration::ZERO;
            if metered.resets {
                (metered.used, metered.burst) = (Duration::ZERO, Duration::ZERO);
            } else {
                metered.paused = Some(Instant::now());
            }
        } else if is_low && took >= STARVED && took >= used * 10 {
            metered.relieved_until = metered.burst + (took / RELIEF).min(NORMAL_PRIORITY);
        }
        if metered.used > metered.limit {
            self.0 = None;
            return Poll::Ready(Progress::OverLimit);
        }
        if !metered.choose_priority() {
            return Poll::Pending;
        }
        self.reschedule()
    }
}

impl<W: Future> MeteredRun<W> {
    fn reschedule(&mut self) -> Poll<Progress<W>> {
        self.0
            .take()
            .map_or(Poll::Pending, |metered| Poll::Ready(Progress::Reschedule(metered)))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Waker;
    use std::thread;

    use super::*;

    #[test]
    fn a_call_that_gets_no_processor_at_low_priority_has_some_at_normal_priority() {
        let mut sleeps = true;
        let work = poll_fn(move |_| {
            if std::mem::take(&mut sleeps) {
                thread::sleep(STARVED);
            } else {
                let begun = ThreadTime::now();
                while begun.elapsed() < SLICE {}
            }
            slice_used();
            Poll::<()>::Pending
        });
        let history = Arc::default();
        let metered = Metered::new(work, NORMAL_PRIORITY * 2, Duration::from_secs(1), history);
        assert_eq!(metered.priority, Priority::Low);
        let mut run = MeteredRun(Some(metered));
        let mut cx = TaskContext::from_waker(Waker::noop());
        let Poll::Ready(Progress::Reschedule(metered)) = Pin::new(&mut run).poll(&mut cx) else {
            panic!("it goes on at another priority");
        };
        assert_eq!(metered.priority, Priority::Normal);
        let mut run = MeteredRun(Some(metered));
        let again = (0..10).find_map(|_| match Pin::new(&mut run).poll(&mut cx) {
            Poll::Ready(Progress::Reschedule(metered)) => Some(metered.priority),
            _ => None,
        });
        assert_eq!(again, Some(Priority::Low));
    }

    #[test]
    fn a_call_that_waits_long_enough_has_normal_priority_again() {
        let work = poll_fn(|_| Poll::<()>::Pending);
        let metered = Metered::new(work, NORMAL_PRIORITY * 2, Duration::from_secs(1), Arc::default());
        assert_eq!(metered.priority, Priority::Low);
        let mut run = MeteredRun(Some(metered));
        let mut cx = TaskContext::from_waker(Waker::noop());
        assert!(Pin::new(&mut run).poll(&mut cx).is_pending());
        thread::sleep(NORMAL_PRIORITY * 2);
        let Poll::Ready(Progress::Reschedule(metered)) = Pin::new(&mut run).poll(&mut cx) else {
            panic!("it goes on at another priority");
        };
        assert_eq!(metered.priority, Priority::Normal);
        assert!(metered.used >= NORMAL_PRIORITY * 2, "the limit counts all of it");
    }
}
