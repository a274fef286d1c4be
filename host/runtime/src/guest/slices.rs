//! The time slices that the code of an instance uses up.

use std::thread::{self, ThreadId};
use std::time::Duration;

use cpu_time::ThreadTime;
use pointwork_core::Audience;
use wasmtime::component::GuestTaskId;
use wasmtime::{Result, StoreContextMut};

use super::Guest;
use super::limiter::Exceeded;
use super::spans::task_of_code;
use crate::scheduling::meter::{NORMAL_PRIORITY, SLICE, is_limit_used};

/// The slices that a call may use up after its client left, to clean up. It may use the first one in part.
const CLEANUP: u32 = 10;

/// The code whose time slice has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SliceOf {
    /// A call, or code that no call runs.
    Call,
    /// A call that computes for more than one slice.
    LongCall,
    /// A call that used more than it may after its client left.
    Cleanup(GuestTaskId),
    /// Code that goes on after its call has ended.
    EndedCall,
}

/// The code that runs in an instance of several calls used up its time slice.
pub(crate) fn slice_ended(store: &mut StoreContextMut<'_, Guest>) -> Result<SliceOf> {
    let call = task_of_code(store)?;
    let guest = store.data_mut();
    let tasks = &mut guest.tasks;
    let mut slice = Slice::ends(call);
    let last = tasks.last_slice.take();
    let (Some(id), Some(task)) = (call, tasks.task(call)) else {
        return Ok(call.map_or(SliceOf::Call, |_| SliceOf::EndedCall));
    };
    let before = last.filter(|last| slice.goes_on_from(last));
    let is_long = before.is_some();
    if let Some(before) = before {
        slice.before = before.before.saturating_add(1);
        task.history.computed_long();
        if SLICE.saturating_mul(slice.before) >= NORMAL_PRIORITY {
            task.history.used_normal_priority();
        }
    }
    let is_over = task.state.cleanup.is_over(slice);
    tasks.last_slice = Some(slice);
    if is_limit_used() {
        let place = guest.place_of(call);
        guest.note_culprit(place);
    }
    Ok(match (is_over, is_long) {
        (true, _) => SliceOf::Cleanup(id),
        (false, true) => SliceOf::LongCall,
        (false, false) => SliceOf::Call,
    })
}

/// The slices that a call uses up after its client left.
#[derive(Default)]
pub(super) struct Cleanup {
    audience: Audience,
    /// The last of them.
    last: Option<Slice>,
    used: u32,
}

impl Cleanup {
    pub(super) fn new(audience: Audience) -> Self {
        Self {
            audience,
            last: None,
            used: 0,
        }
    }

    /// Whether nobody gets the result of the call.
    pub(super) fn has_left(&self) -> bool {
        self.audience.has_left()
    }

    /// A slice of the call ended. Returns whether the call used more than it may.
    fn is_over(&mut self, slice: Slice) -> bool {
        if !self.has_left() {
            return false;
        }
        let last = self.last.replace(slice);
        self.used += u32::from(last.is_some_and(|last| slice.is_computed_since(&last)));
        self.used >= CLEANUP
    }

    /// The same for the only call.
    ///
    /// # Errors
    /// If the call used more than it may.
    pub(super) fn use_slice(&mut self) -> Result<(), Exceeded> {
        if self.is_over(Slice::ends(None)) {
            return Err(Exceeded::CLEANUP);
        }
        Ok(())
    }
}

impl Exceeded {
    /// The name of the limit of processor time.
    pub(crate) const CPU: &str = "cpu";

    /// The processor time of a call after its client left.
    pub(crate) const CLEANUP: Self = Self {
        limit: "cleanup",
        value: CLEANUP as u64 * SLICE.as_millis() as u64,
        unit: "ms",
    };
}

/// The end of a slice of a call.
#[derive(Clone, Copy)]
pub(super) struct Slice {
    call: Option<GuestTaskId>,
    thread: ThreadId,
    processor_time: Duration,
    /// The number of slices before this one in which the call computed without a pause.
    before: u32,
}

impl Slice {
    fn ends(call: Option<GuestTaskId>) -> Self {
        Self {
            call,
            thread: thread::current().id(),
            processor_time: ThreadTime::now().as_duration(),
            before: 0,
        }
    }

    /// Whether the same call computed since the end of its last slice.
    fn goes_on_from(&self, last: &Self) -> bool {
        self.call == last.call && self.thread == last.thread && self.is_computed_since(last)
    }

    /// Whether the thread computed since the end of another slice, or this one ran on another thread. The time of a slice passes on a
    /// thread without a processor too.
    fn is_computed_since(&self, last: &Self) -> bool {
        self.thread != last.thread || self.processor_time.saturating_sub(last.processor_time) >= SLICE / 2
    }
}
