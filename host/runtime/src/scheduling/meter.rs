//! Where guest code runs, and how much of the processor it gets.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use cpu_time::ThreadTime;
use pointwork_core::BoxFuture;
use tokio::task::JoinError;

use crate::component::engine::SLICE;
use crate::scheduling::call_history::{CallHistory, Slow};
use crate::scheduling::threads::Threads;

/// How much processor time guest code gets beside others before it moves to the slow lane, whose threads run only when
/// nobody else wants the processor. Calls of a handler that is known to loop have one slice, those of one whose calls often
/// crash have nothing: making instances anew is work as well.
const FAST_LANE: Duration = Duration::from_millis(50);

thread_local! {
    /// Whether a guest on this thread used up its slice since somebody asked last.
    static SLICE_USED: Cell<bool> = const { Cell::new(false) };
}

/// Notes that the guest that runs on this thread used up its slice and yields.
pub(crate) fn slice_used() {
    SLICE_USED.set(true);
}

/// Whether a guest used up its slice since this was asked last.
pub(crate) fn take_slice_used() -> bool {
    SLICE_USED.replace(false)
}

/// Threads for guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    Fast,
    Slow,
}

/// Guest code that is metered: how much processor time it used.
///
/// It is polled in one lane until it should be in the other, or until it has used up what it may.
pub(crate) struct Metered<T> {
    work: BoxFuture<'static, T>,
    limit: Duration,
    used: Duration,
    /// Whether a pause makes it begin at nothing again, as if it were new.
    forgiving: bool,
    lane: Lane,
    history: Arc<CallHistory>,
    /// There while it is in the slow lane for what it used itself.
    slow: Option<Slow>,
}

/// Why a poll of [`Metered`] ended.
pub(crate) enum Turn<T> {
    Done(T),
    /// It goes on in the lane that it names now.
    Move(Metered<T>),
    /// It used up what it may; what it was is dropped.
    Spent,
}

impl<T> Metered<T> {
    /// Meters what has used so much already. All of its time counts.
    pub(crate) fn new(work: BoxFuture<'static, T>, used: Duration, limit: Duration, history: Arc<CallHistory>) -> Self {
        let mut metered = Self {
            work,
            limit,
            used,
            forgiving: false,
            lane: Lane::Fast,
            history,
            slow: None,
        };
        metered.choose_lane();
        metered
    }

    /// Meters what goes on for ever. Only what it uses without a pause counts.
    pub(crate) fn forgiving(work: BoxFuture<'static, T>, limit: Duration, history: Arc<CallHistory>) -> Self {
        let mut metered = Self {
            work,
            limit,
            used: Duration::ZERO,
            forgiving: true,
            lane: Lane::Fast,
            history,
            slow: None,
        };
        metered.choose_lane();
        metered
    }

    pub(crate) fn lane(&self) -> Lane {
        self.lane
    }

    /// Whether it has to change lanes.
    fn choose_lane(&mut self) -> bool {
        let before = self.lane;
        let patience = if self.history.loops() {
            Duration::ZERO
        } else {
            FAST_LANE
        };
        self.lane = if self.used > patience || self.history.crashes_often() {
            Lane::Slow
        } else {
            Lane::Fast
        };
        if self.used <= patience {
            self.slow = None;
        } else if self.slow.is_none() {
            self.slow = Some(self.history.go_slow());
        }
        self.lane != before
    }

    /// Runs it in its lane.
    pub(crate) fn turn(self) -> Running<T> {
        Running(Some(self))
    }
}

/// Runs metered work to its end, in one lane after the other; `None` if it used up what it may.
///
/// # Errors
/// If the work panicked.
pub(crate) async fn follow<T: Send + 'static>(
    mut metered: Metered<T>,
    threads: &Threads,
) -> Result<Option<T>, JoinError> {
    loop {
        let lane = metered.lane();
        match threads.spawn_in(lane, metered.turn()).await? {
            Turn::Done(output) => return Ok(Some(output)),
            Turn::Move(moved) => metered = moved,
            Turn::Spent => return Ok(None),
        }
    }
}

/// A [`Metered`] on one lane.
pub(crate) struct Running<T>(Option<Metered<T>>);

impl<T> Future for Running<T> {
    type Output = Turn<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Turn<T>> {
        let Some(metered) = &mut self.0 else {
            return Poll::Pending;
        };
        take_slice_used();
        // Asking for the time of the thread is a system call, which a call that is soon done must not pay.
        let begun = (!metered.forgiving || metered.lane == Lane::Slow).then(ThreadTime::now);
        let polled = metered.work.as_mut().poll(cx);
        let sliced = take_slice_used();
        if let Poll::Ready(output) = polled {
            return Poll::Ready(Turn::Done(output));
        }
        if metered.forgiving && !sliced {
            metered.used = Duration::ZERO;
        } else {
            metered.used += begun.map_or(SLICE, |begun| begun.elapsed());
        }
        if metered.used > metered.limit {
            self.0 = None;
            return Poll::Ready(Turn::Spent);
        }
        if metered.choose_lane() {
            return self
                .0
                .take()
                .map_or(Poll::Pending, |metered| Poll::Ready(Turn::Move(metered)));
        }
        Poll::Pending
    }
}
