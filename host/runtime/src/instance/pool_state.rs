//! The calls that wait for the instances of an asynchronous module, and these instances.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use super::async_instance::InstanceState;
use super::call::QueuedCall;
use crate::component::module_pre::ModulePre;
use crate::scheduling::admission::Counted;
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::held_places::{HandlerShare, WaitingCall};

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

    /// Decides which instances serve the calls that compute for long, of which one waits if they are `wanted`. The other calls have the
    /// instances beyond the `share`.
    pub(super) fn assign_long(&self, share: HandlerShare, are_wanted: bool) {
        for instance in &self.open {
            if instance.in_flight() == 0 && !are_wanted {
                instance.serve_any();
            } else if instance.mixes_calls() && share.is_a_part() && self.for_long() < share.instances() {
                // Its other calls end there, and no further one begins.
                instance.serve_long();
            }
        }
        // A loop serves nobody, and the other calls need an instance that does.
        let find = |is_for_long, is_busy| {
            let mut open = self.open.iter();
            open.find(|instance| instance.is_for_long() == is_for_long && instance.is_busy() == is_busy)
        };
        if self.for_long() >= share.instances()
            && let (Some(looping), Some(serving)) = (find(false, true), find(true, false))
        {
            looping.serve_long();
            serving.serve_any();
        }
    }

    /// Has calls that compute for long wait with the other calls, unless they may be loops: one loop in the instances of such calls would
    /// hold up every handler that computes.
    pub(super) fn share_calls_without_loops(&mut self) {
        let waiting = std::mem::take(&mut self.long).into_iter();
        let (looping, others): (VecDeque<_>, VecDeque<_>) =
            waiting.partition(|waiting| self.may_loop(waiting.call.history()));
        self.long = looping;
        for call in others {
            let at = self.queue.partition_point(|waiting| waiting.number < call.number);
            self.queue.insert(at, call);
        }
    }

    /// Whether calls of a handler loop, or a call of the handler may keep the guest of an instance busy.
    fn may_loop(&self, history: &CallHistory) -> bool {
        let mut busy = self
            .open
            .iter()
            .chain(&self.closing)
            .filter(|instance| instance.is_busy());
        history.loops() || busy.any(|instance| instance.may_be_kept_busy_by(history))
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use pointwork_core::Sharded;

    use super::*;
    use crate::instance::call::SharedCall;

    const SHARE: HandlerShare = HandlerShare { of: 2, in_flight: 64 };

    fn instance(is_for_long: bool, is_busy: bool) -> Arc<InstanceState> {
        let instance = InstanceState::with_a_call(0, is_for_long);
        instance.busy.store(is_busy, Ordering::Relaxed);
        Arc::new(instance)
    }

    #[test]
    fn an_instance_whose_guest_loops_takes_the_place_of_one_that_serves() {
        let state = PoolState {
            open: vec![instance(false, true), instance(true, false)],
            ..PoolState::default()
        };
        state.assign_long(SHARE, true);
        let roles = |state: &PoolState| state.open.iter().map(|one| one.is_for_long()).collect::<Vec<_>>();
        assert_eq!(roles(&state), [true, false]);
        state.open[1].busy.store(true, Ordering::Relaxed);
        state.assign_long(SHARE, true);
        assert_eq!(roles(&state), [true, false], "none of them serves");
    }

    #[test]
    fn a_handler_may_loop_while_the_call_that_loops_is_unknown() {
        let history = || Sharded::of(Arc::<CallHistory>::default()).local().clone();
        let (loops, neighbour, other) = (history(), history(), history());
        let busy = instance(true, true);
        let calls = [&loops, &neighbour].map(|history| {
            let shared = Arc::<SharedCall>::default();
            busy.takes(history, &shared);
            shared
        });
        let mut state = PoolState::default();
        state.open.push(busy);
        let may_loop = |state: &PoolState| [&loops, &neighbour, &other].map(|history| state.may_loop(history));
        assert_eq!(may_loop(&state), [true, true, false]);
        loops.used_normal_priority();
        assert_eq!(may_loop(&state), [true, false, false]);
        drop(calls);
    }
}
