//! The calls that wait for the instances of an asynchronous module, and these instances.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::async_instance::InstanceState;
use super::call::QueuedCall;
use crate::component::module_pre::ModulePre;
use crate::scheduling::admission::Counted;
use crate::scheduling::held_places::WaitingCall;

#[derive(Default)]
pub(super) struct PoolState {
    /// The number of the next call that is put into a queue.
    pub(super) next: u64,
    /// Calls that no instance has taken, in the order of their numbers.
    pub(super) queue: VecDeque<WaitingInQueue>,
    /// Those of them that compute for long, which share instances with one another alone.
    pub(super) long: VecDeque<WaitingInQueue>,
    /// Those of them that need an instance to themselves.
    pub(super) alone: VecDeque<WaitingInQueue>,
    /// Instances that take calls.
    pub(super) open: Vec<Arc<InstanceState>>,
    /// Instances that take no call any more and end with the calls that they have. An instance counts until it has ended: there are
    /// never more instances than the limit.
    pub(super) closing: Vec<Arc<InstanceState>>,
    /// Whether the engine's pool had no room for an instance, when the calls were distributed last.
    pub(super) lacks_room: bool,
    /// Whether a task waits for that room.
    pub(super) waits_for_room: bool,
}

/// The queue of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    Shared,
    Long,
    Alone,
}

/// A call that no instance has taken.
pub(super) struct WaitingInQueue {
    pub(super) number: u64,
    pub(super) since: Instant,
    pub(super) call: QueuedCall,
    /// Counts it if it came when all instances were full.
    pub(super) counted: Option<(Counted, WaitingCall)>,
}

impl PoolState {
    pub(super) fn count(&self) -> usize {
        self.open.len() + self.closing.len()
    }

    pub(super) fn close(&mut self, mut unfit: impl FnMut(&InstanceState) -> bool) {
        for instance in self.open.extract_if(.., |instance| unfit(instance)) {
            instance.close();
            self.closing.push(instance);
        }
    }

    pub(super) fn close_an_idle_one(&mut self) -> bool {
        // One that ends already makes room too.
        let mut closed = self.closing.iter().any(|instance| instance.in_flight() == 0);
        self.close(|instance| instance.in_flight() == 0 && !std::mem::replace(&mut closed, true));
        closed
    }

    pub(super) fn forget_ended(&mut self) {
        self.close(InstanceState::is_closed);
        self.closing.retain(|instance| !instance.end.initialized());
    }

    /// The number of calls that the instances can take now: of calls that compute for long, or of other calls.
    pub(super) fn room(&self, of_long: bool, pre: &ModulePre) -> usize {
        let open = self.open.iter();
        open.map(|instance| instance.room(of_long, &pre.version.limits))
            .fold(0, usize::saturating_add)
    }

    pub(super) fn queue(&mut self, queue: Queue) -> &mut VecDeque<WaitingInQueue> {
        match queue {
            Queue::Shared => &mut self.queue,
            Queue::Long => &mut self.long,
            Queue::Alone => &mut self.alone,
        }
    }

    /// The instances for calls that compute for long.
    pub(super) fn for_long(&self) -> usize {
        let all = self.open.iter().chain(&self.closing);
        all.filter(|instance| instance.is_for_long()).count()
    }

    /// Takes a call back that no instance has taken from a queue.
    pub(super) fn withdraw(&mut self, number: Option<u64>) -> Option<WaitingInQueue> {
        let number = number?;
        [&mut self.queue, &mut self.long, &mut self.alone]
            .into_iter()
            .find_map(|queue| {
                let at = queue.binary_search_by_key(&number, |waiting| waiting.number).ok()?;
                queue.remove(at)
            })
    }
}
