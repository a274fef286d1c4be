//! The instances of an asynchronous module: each may serve several calls at a time.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pointwork_core::{BoxFuture, CrashKind, Executor as _, Shard, Sharded, within};
use tokio::sync::oneshot;

use super::async_instance::{Driver, GRACE, InstanceState};
use super::call::{Call, Late, Queued, QueuedCall, SharedCall};
use super::crashes::{Overload, cpu_exceeded, crash, drained, overloaded, panicked};
use super::pool_state::{PoolState, Queue, WaitingInQueue};
use super::reentrancy::{Idle, InstancePool};
use crate::component::module_pre::ModulePre;
use crate::component::pool_account::{Freed, InstanceSlot};
use crate::guest::spans::TaskSpan;
use crate::scheduling::admission::InFlight;
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::driver_slot::DriverSlot;
use crate::scheduling::meter::{Metered, is_slice_used, run_to_end};
use crate::scheduling::threads::{Priority, Threads};

/// The instances of an asynchronous module, each driven by a task on the scheduler threads, and the calls that wait for
/// them.
///
/// An instance takes calls from the queue when its driver is polled, so that one whose guest does not let go of the processor
/// takes none. While nothing waits, a thread gives its calls to the instance that it ran last, if that is idle: the state is
/// shared by all threads, and one that takes its lock waits for the others.
pub(crate) struct AsyncPool {
    pre: Arc<ModulePre>,
    threads: Arc<Threads>,
    /// The history of shared instances. Which of its calls used the processor is unknown.
    history: Arc<CallHistory>,
    /// The instance that a thread ran last, so that the memory of the instance is in the cache of its processor.
    here: Sharded<Mutex<Weak<InstanceState>>>,
    /// The number of calls that no instance has taken, for those who have not locked the state.
    queued: Arc<AtomicUsize>,
    /// The number of instances, for the same.
    instances: AtomicUsize,
    /// Whether other calls of the module wait for its calls. A handler may hold all of its instances: those calls would wait for ever.
    is_inner: bool,
    state: Mutex<PoolState>,
}

/// A call in the queue, or in an instance.
struct Enqueued {
    /// Its number in the queue.
    number: Option<u64>,
    /// Whether it has to wait for an instance.
    waits: bool,
    /// The instance to poll, unless one was started for the call.
    instance: Option<Arc<InstanceState>>,
}

/// An instance that ended before a call of it did, and the history of the call.
type EndedWithInstance = (Arc<InstanceState>, Shard<Arc<CallHistory>>);

impl AsyncPool {
    pub(crate) fn new(pre: Arc<ModulePre>, threads: Arc<Threads>) -> Self {
        Self {
            pre,
            threads,
            history: Arc::default(),
            here: Sharded::default(),
            queued: Arc::default(),
            instances: AtomicUsize::default(),
            is_inner: false,
            state: Mutex::default(),
        }
    }

    /// Runs a call in an instance that has room.
    pub(crate) fn run<C: Call>(pool: Shard<Arc<Self>>, call: C, in_flight: InFlight) -> BoxFuture<'static, C::Output> {
        Box::pin(async move {
            let _in_flight = in_flight;
            pool.serve(call).await
        })
    }

    async fn serve<C: Call>(self: &Arc<Self>, call: C) -> C::Output {
        let output = match self.output(call).await {
            Ok(output) => output,
            Err(overload) => return C::crashed(overloaded(&self.pre, overload)),
        };
        let (instance, history) = match output {
            Ok(output) => return output,
            Err(ended) => ended,
        };
        // The call is dropped a moment before the instance's end is known.
        let end = within(&*self.threads, self.threads.now() + GRACE, instance.end.wait()).await;
        let end = match end {
            Some(end) => instance.crash_of(&history, end),
            // The thread that would tell ends with the application.
            None if self.pre.cut.is_cancelled() => drained(&self.pre),
            None => crash(&self.pre, CrashKind::Trap, "the instance ended"),
        };
        C::crashed(end)
    }

    /// The output of a call; or the instance that ended before it, and the history of the call.
    async fn output<C: Call>(self: &Arc<Self>, call: C) -> Result<Result<C::Output, EndedWithInstance>, Overload> {
        let slot = self.pre.version.streams.take_if(call.streams()).await?;
        let (sender, output) = oneshot::channel();
        let shared = Arc::<SharedCall>::default();
        let (deadline, queue) = (call.caller().deadline(), self.queue_of(call.history()));
        let (span, history) = (TaskSpan::new(call.caller()), call.history().clone());
        let queued = C::queued(Queued {
            call,
            slot,
            span,
            output: sender,
            shared: shared.clone(),
            held: None,
        });
        let Enqueued {
            number,
            waits,
            instance,
        } = self.enqueue(queued, queue)?;
        let mut place = Place::<C> {
            pool: self,
            number,
            deadline,
            history,
            output: Some(output),
            shared,
        };
        if let Some(instance) = instance {
            instance.run_here(&self.threads);
        }
        let output = place.wait(waits).await?;
        match (output, place.shared.taken_by.get()) {
            (Some(output), _) => Ok(Ok(output)),
            (None, Some(instance)) => Ok(Err((instance.clone(), place.history.clone()))),
            // It was in the queue for too long.
            (None, None) => Err(Overload::Instances),
        }
    }

    /// Gives a call to the instance that this thread ran last, or puts it into the queue.
    fn enqueue(self: &Arc<Self>, mut call: QueuedCall, queue: Queue) -> Result<Enqueued, Overload> {
        let here = self.here.local();
        let is_taken = self.is_taken_by(call.history(), self.instances.load(Ordering::Relaxed));
        let may_pass = queue == Queue::Shared && !is_taken && self.queued.load(Ordering::Relaxed) == 0;
        // In a statement of its own, so that the lock does not last.
        let last = may_pass.then(|| here.lock().upgrade()).flatten();
        if let Some(instance) = last {
            match instance.offer(call, &self.pre.version.limits, self.threads.now()) {
                Ok(served) => {
                    if self.is_last(served) {
                        instance.close();
                    }
                    return Ok(Enqueued {
                        number: None,
                        waits: false,
                        instance: Some(instance),
                    });
                }
                Err(refused) => call = refused,
            }
        }
        // Dropped after the lock.
        let mut refused = None;
        let enqueued = self.locked(|state| self.enqueue_now(state, call, queue, &mut refused))?;
        if let Some(instance) = &enqueued.instance {
            *here.lock() = Arc::downgrade(instance);
        }
        Ok(enqueued)
    }

    /// See [`enqueue`](Self::enqueue).
    fn enqueue_now(
        self: &Arc<Self>,
        state: &mut PoolState,
        call: QueuedCall,
        queue: Queue,
        refused: &mut Option<WaitingInQueue>,
    ) -> Result<Enqueued, Overload> {
        let number = state.next;
        state.next += 1;
        let history = call.history().clone();
        state.queue(queue).push_back(WaitingInQueue {
            number,
            since: self.threads.now(),
            call,
            counted: None,
        });
        let [shared, long] = self.choose(state);
        let is_moved = queue == Queue::Long && state.long.back().is_none_or(|last| last.number != number);
        let queue = if is_moved { Queue::Shared } else { queue };
        let (instance, room) = match queue {
            Queue::Shared => (shared, state.room(false, &self.pre)),
            Queue::Long => (long, state.room(true, &self.pre)),
            Queue::Alone => (None, 0),
        };
        let is_taken = self.is_taken_by(&history, state.count());
        let queue = state.queue(queue);
        let has_room = instance.is_some() && !is_taken && queue.len() <= room;
        let waits = !has_room && queue.back().is_some_and(|last| last.number == number);
        if waits {
            let counted = self.pre.version.admission.wait(&history, self.pre.version.limits.queue);
            if counted.is_none() {
                *refused = queue.pop_back();
                return Err(Overload::Queue);
            }
            if let Some(last) = queue.back_mut() {
                last.counted = counted;
            }
        }
        Ok(Enqueued {
            number: Some(number),
            waits,
            instance,
        })
    }

    /// Whether slow calls of a handler hold as many places as they may, if so many instances exist.
    fn is_taken_by(&self, history: &CallHistory, instances: usize) -> bool {
        let share = self.pre.handler_share();
        !self.is_inner && share.can_be_held(instances) && history.holds_its_share(share, self.threads.now())
    }

    /// The queue of a call. One that computes for long would hold up others, which need an instance beside its own.
    fn queue_of(&self, history: &CallHistory) -> Queue {
        if history.crashes_often() {
            Queue::Alone
        } else if history.computes_long() && self.pre.handler_share().is_a_part() {
            Queue::Long
        } else {
            Queue::Shared
        }
    }

    /// The place in a queue of the first call that may get a place in an instance.
    fn first(&self, state: &mut PoolState, queue: Queue) -> Option<usize> {
        let instances = state.count();
        let mut taken = None;
        state.queue(queue).iter().position(|waiting| {
            let history = waiting.call.history();
            let is_taken = taken.is_some_and(|taken| Arc::ptr_eq(taken, history));
            if is_taken || self.is_taken_by(history, instances) {
                taken = Some(history);
                return false;
            }
            true
        })
    }

    /// Gives the calls of the queue to instances: wakes one that has room, or starts others.
    pub(super) fn distribute(self: &Arc<Self>) {
        self.locked(|state| self.distribute_now(state));
    }

    /// Works on the state, and tells the account after the lock: another version that wanted an idle instance of this pool in
    /// the meantime found the lock taken, see [`free_idle`](InstancePool::free_idle).
    fn locked<T>(&self, work: impl FnOnce(&mut PoolState) -> T) -> T {
        let mut state = self.state.lock();
        let result = work(&mut state);
        self.publish_length(&state);
        drop(state);
        self.pre.tenancy.tell();
        result
    }

    fn publish_length(&self, state: &PoolState) {
        self.queued.store(
            state.queue.len() + state.long.len() + state.alone.len(),
            Ordering::Relaxed,
        );
        self.instances.store(state.count(), Ordering::Relaxed);
    }

    fn distribute_now(self: &Arc<Self>, state: &mut PoolState) {
        for instance in self.choose(state).into_iter().flatten() {
            instance.wake();
        }
    }

    /// Starts the instances that the calls of the queues need. Returns the one to take shared calls, unless others were started, and
    /// the one to take calls that compute for long.
    fn choose(self: &Arc<Self>, state: &mut PoolState) -> [Option<Arc<InstanceState>>; 2] {
        let limits = &self.pre.version.limits;
        // An instance that is woken looks at the length first.
        self.publish_length(state);
        state.forget_ended();
        state.lacks_room = false;
        while self.start_from(state, Queue::Alone) {}
        if !state.alone.is_empty() && (state.lacks_room || state.count() >= limits.instances) {
            // Its end makes room.
            state.close_an_idle_one();
        }
        let is_wanted = self.first(state, Queue::Long).is_some();
        state.assign_long(self.pre.handler_share(), is_wanted);
        if state.for_long() >= self.pre.handler_share().instances() && state.room(true, &self.pre) == 0 {
            state.share_calls_without_loops();
        }
        let long = self.choose_for_long(state);
        while state.queue.len() > state.room(false, &self.pre) && self.start_from(state, Queue::Shared) {}
        if state.lacks_room && !std::mem::replace(&mut state.waits_for_room, true) {
            self.wait_for_room();
        }
        [self.choose_shared(state), long]
    }

    /// See [`choose`](Self::choose).
    fn choose_shared(self: &Arc<Self>, state: &mut PoolState) -> Option<Arc<InstanceState>> {
        let limits = &self.pre.version.limits;
        let first = self.first(state, Queue::Shared)?;
        let body = state.queue[first].call.body();
        let with_room = state.open.iter();
        let with_room =
            with_room.filter(|instance| instance.room(false, limits) > 0 && instance.has_memory(body, limits));
        let here = self.here.local().lock().clone();
        let order = |instance: &Arc<InstanceState>| {
            let is_here = std::ptr::eq(here.as_ptr(), Arc::as_ptr(instance));
            (instance.is_run(), instance.in_flight(), !is_here)
        };
        let chosen = with_room.map(|instance| (order(instance), instance));
        let Some(((is_run, ..), chosen)) = chosen.min_by_key(|(order, _)| *order) else {
            // Those with room have no memory for the body.
            self.start_from(state, Queue::Shared);
            return None;
        };
        let chosen = chosen.clone();
        // One instance for each processor, so that calls need not wait for each other.
        if is_run && state.count() < self.threads.processors() {
            let lacks_room = state.lacks_room;
            let is_started = self.start_from(state, Queue::Shared);
            state.lacks_room = lacks_room;
            if is_started && state.queue.is_empty() {
                return None;
            }
        }
        Some(chosen)
    }

    /// Calls that compute for long have the instances that serve them already; then an idle one, a new one, or the one with the fewest
    /// calls, as long as the other calls have a quarter of the instances.
    fn choose_for_long(self: &Arc<Self>, state: &mut PoolState) -> Option<Arc<InstanceState>> {
        let (limits, share) = (&self.pre.version.limits, self.pre.handler_share());
        let first = self.first(state, Queue::Long)?;
        let body = state.long[first].call.body();
        let has_room = |instance: &&Arc<InstanceState>, of_long| {
            instance.room(of_long, limits) > 0 && instance.has_memory(body, limits)
        };
        let mut open = state.open.iter();
        if let Some(instance) = open.find(|instance| has_room(instance, true)) {
            return Some(instance.clone());
        }
        if state.for_long() >= share.instances() {
            return None;
        }
        let others = state.open.iter().filter(|instance| has_room(instance, false));
        let fewest = others.min_by_key(|instance| instance.in_flight()).cloned();
        if fewest.as_ref().is_none_or(|instance| instance.in_flight() > 0) && self.start_from(state, Queue::Long) {
            return None;
        }
        fewest.inspect(|instance| instance.serve_long())
    }

    /// Starts an instance with the first call of a queue. Returns whether there was room for one.
    fn start_from(self: &Arc<Self>, state: &mut PoolState, queue: Queue) -> bool {
        if state.count() >= self.pre.version.limits.instances {
            return false;
        }
        let Some(at) = self.first(state, queue) else {
            return false;
        };
        let Some(slot) = self.pre.tenancy.take() else {
            state.lacks_room = true;
            return false;
        };
        let Some(mut first) = state.queue(queue).remove(at) else {
            return false;
        };
        let instance = Arc::new(InstanceState::with_a_call(first.call.body(), queue == Queue::Long));
        first.call.taken_by(&instance, self.threads.now());
        let is_alone = queue == Queue::Alone;
        let history = if is_alone { first.call.history() } else { &self.history };
        let history = Arc::clone(history);
        self.start(instance.clone(), history, slot, first.call);
        if is_alone || self.is_last(1) {
            instance.close();
            state.closing.push(instance);
        } else {
            state.open.push(instance);
        }
        true
    }

    /// Whether an instance takes no further call after so many.
    fn is_last(&self, served: u64) -> bool {
        served >= self.pre.version.limits.reuse || self.pre.is_retired()
    }

    /// The next call for an instance that can take one.
    pub(super) fn take(self: &Arc<Self>, instance: &Arc<InstanceState>) -> Option<QueuedCall> {
        self.locked(|state| {
            let limits = &self.pre.version.limits;
            let is_long = instance.is_for_long();
            let queue = if is_long { Queue::Long } else { Queue::Shared };
            let Some(first) = self.first(state, queue) else {
                // A place may be free for a call of another queue.
                self.distribute_now(state);
                return None;
            };
            let body = state.queue(queue).get(first)?.call.body();
            let Some(served) = instance.begin_call(body, is_long, limits) else {
                if instance.room(is_long, limits) > 0 {
                    // Another instance must have the memory for the body.
                    self.distribute_now(state);
                }
                return None;
            };
            let mut next = state.queue(queue).remove(first)?;
            // Under the lock: a client that leaves finds its call in the queue or with an instance.
            next.call.taken_by(instance, self.threads.now());
            if self.is_last(served) {
                state.close(|other| std::ptr::eq(other, &**instance));
            }
            if !state.queue(queue).is_empty() {
                // This instance may be full now, and another one must serve the rest of the queue.
                self.distribute_now(state);
            }
            Some(next.call)
        })
    }

    /// An instance has no call. Calls that need one to themselves may want its place, and those that compute for long the instance.
    pub(super) fn became_idle(self: &Arc<Self>) {
        self.locked(|state| {
            if !state.alone.is_empty() || !state.long.is_empty() {
                self.distribute_now(state);
            }
        });
    }

    /// Distributes the calls again whenever an instance of the engine's pool is gone, until there was room.
    fn wait_for_room(self: &Arc<Self>) {
        let (pool, tenancy) = (Arc::downgrade(self), self.pre.tenancy.clone());
        self.threads.spawn_work(async move {
            loop {
                let freed = tenancy.next_freed();
                let Some(pool) = pool.upgrade() else { break };
                {
                    // Not `locked`, which would tell this task itself. A pool without room has no idle instance.
                    let mut state = pool.state.lock();
                    pool.distribute_now(&mut state);
                    if !state.lacks_room {
                        state.waits_for_room = false;
                        break;
                    }
                }
                drop(pool);
                freed.wait().await;
            }
        });
    }

    /// Starts an instance on the threads for calls of that history.
    fn start(
        self: &Arc<Self>,
        state: Arc<InstanceState>,
        history: Arc<CallHistory>,
        slot: InstanceSlot,
        first: QueuedCall,
    ) {
        let (pre, threads, pool) = (self.pre.clone(), self.threads.clone(), Arc::downgrade(self));
        let driver = Driver {
            pre: pre.clone(),
            threads: threads.clone(),
            pool: pool.clone(),
            queued: self.queued.clone(),
            state: state.clone(),
            slot,
            first,
        };
        let driver = DriverSlot::new(driver.drive(), threads.clone());
        let keeper = driver.clone().keep();
        // Nobody else sets it.
        let _ = state.driver.set(driver);
        let driving = Box::pin(noticed(keeper, pre.clone(), state.clone(), pool.clone()));
        let metered = Metered::new(driving, Duration::ZERO, pre.version.limits.cpu, history).per_burst();
        self.threads.spawn_at(Priority::Normal, async move {
            let end = match run_to_end(metered, &threads).await {
                Ok(Some(end)) => end,
                Ok(None) => {
                    let end = state.blame(None, |blame| cpu_exceeded(&pre, blame));
                    if state.in_flight() == 0 {
                        // As for a trap of such code: no call reports it.
                        pre.version.admission.report(end.clone());
                    }
                    end
                }
                Err(error) => {
                    let message = format!("the instance did not end: {error}");
                    state.blame(None, |blame| panicked(&pre, blame, message))
                }
            };
            state.close();
            // Before its call ends with it.
            let _ = state.end.set(end);
            drop(state.shut());
            if let Some(pool) = pool.upgrade() {
                pool.distribute();
            }
        });
    }
}

/// After so many slices without a pause an instance has no room for calls, until its guest lets go of the processor. The first
/// one may be short: the clock goes on while the guest waits.
const LOOPING: u32 = 2;

/// Drives an instance, and notices when its guest loops. It takes no further calls once code that goes on after its call has used
/// the processor time of a call; the instance ends with the calls that it has.
async fn noticed<T>(
    driving: impl Future<Output = T>,
    pre: Arc<ModulePre>,
    state: Arc<InstanceState>,
    pool: Weak<AsyncPool>,
) -> T {
    let mut driving = pin!(driving);
    let mut slices = 0_u32;
    poll_fn(|cx| {
        // Before the poll: a request that follows a reply of this poll at once would be left to the scheduler too, and so on.
        state.leave_to_scheduler(false);
        let polled = driving.as_mut().poll(cx);
        let used = polled.is_pending() && is_slice_used();
        if used {
            state.leave_to_scheduler(true);
        }
        slices = if used { slices.saturating_add(1) } else { 0 };
        let busy = slices >= LOOPING;
        let changed = state.busy.swap(busy, Ordering::Relaxed) != busy;
        let cpu = pre.version.limits.cpu;
        let retired = state.used_after_calls() > cpu && state.close();
        if retired {
            let module = &*pre.version.module;
            tracing::warn!(
                module,
                "an instance was retired: code that went on after its calls used {cpu:?} (`cpu`)"
            );
        }
        // Calls that it did not take go to others; it takes calls that wait once its guest let go of the processor. Which call loops
        // is known a few slices later.
        if let Some(pool) = pool.upgrade()
            && (changed || retired || busy && pool.queued.load(Ordering::Relaxed) > 0)
        {
            pool.distribute();
        }
        polled
    })
    .await
}

/// A call's place in the queue or in an instance, until its output is there or nobody waits for it.
struct Place<'a, C: Call> {
    pool: &'a Arc<AsyncPool>,
    number: Option<u64>,
    deadline: Option<Instant>,
    history: Shard<Arc<CallHistory>>,
    /// Not there once it has ended.
    output: Option<oneshot::Receiver<C::Output>>,
    shared: Arc<SharedCall>,
}

impl<C: Call> Place<'_, C> {
    /// The output; `None` if the call was dropped. If it `waits` for an instance, one has to take it in time.
    async fn wait(&mut self, waits: bool) -> Result<Option<C::Output>, Overload> {
        let Some(output) = &mut self.output else {
            return Ok(None);
        };
        let until = waits.then(|| self.pool.threads.now() + self.pool.pre.version.limits.queue_wait);
        if let Some(until) = until {
            let in_time = within(&*self.pool.threads, until, &mut *output).await;
            if let Some(output) = in_time {
                self.output = None;
                return Ok(output.ok());
            }
            let number = self.number;
            let withdraw = |state: &mut PoolState| (state.withdraw(number), state.lacks_room, state.count());
            let (withdrawn, lacks_room, instances) = self.pool.locked(withdraw);
            if withdrawn.is_some() {
                self.output = None;
                return Err(if self.pool.is_taken_by(&self.history, instances) {
                    Overload::Share
                } else if lacks_room {
                    Overload::Pool
                } else {
                    Overload::Instances
                });
            }
        }
        let output = output.await;
        self.output = None;
        Ok(output.ok())
    }
}

impl<C: Call> Drop for Place<'_, C> {
    fn drop(&mut self) {
        let Some(output) = self.output.take() else { return };
        let number = self.number;
        let withdrawn = self.pool.locked(|state| state.withdraw(number));
        // The call is dropped after the lock.
        if withdrawn.is_none() && self.shared.taken_by.get().is_some() {
            self.shared.is_abandoned.store(true, Ordering::Relaxed);
            let (shared, deadline) = (self.shared.clone(), self.deadline);
            let threads = self.pool.threads.clone();
            let watching = async move { watch_abandoned(output, &shared, deadline, &threads).await };
            self.pool.threads.spawn_at(Priority::Normal, watching);
        }
    }
}

/// Waits for the end of a call that nobody waits for any more. If it has not ended by its deadline, the instance is given up.
async fn watch_abandoned<T>(
    output: oneshot::Receiver<T>,
    call: &SharedCall,
    deadline: Option<Instant>,
    threads: &Threads,
) {
    let Some(instance) = call.taken_by.get() else { return };
    let now = threads.now();
    let is_overdue = deadline.is_some_and(|deadline| deadline <= now);
    let late = if is_overdue { Late::Overdue } else { Late::Abandoned };
    if within(threads, deadline.unwrap_or(now + GRACE), output).await.is_none() {
        instance.must_end(call, late);
    }
}

impl InstancePool for AsyncPool {
    fn another(&self) -> Self {
        let mut inner = Self::new(self.pre.clone(), self.threads.clone());
        inner.is_inner = true;
        inner
    }

    fn shrink(&self) {
        let (is_retired, limits) = (self.pre.is_retired(), &self.pre.version.limits);
        let allowed = if is_retired { Duration::ZERO } else { limits.idle };
        let now = self.threads.now();
        let late = self.locked(|state| {
            state.forget_ended();
            state.close(|instance| instance.is_idle_for(allowed, now));
            // Calls that instances had room for until a guest of theirs did not let go of the processor.
            let mut late = Vec::new();
            while (state.queue.len() > state.room(false, &self.pre) || self.first(state, Queue::Shared).is_none())
                && state
                    .queue
                    .front()
                    .is_some_and(|first| now - first.since > limits.queue_wait)
            {
                late.extend(state.queue.pop_front());
            }
            late
        });
        // Calls are dropped after the lock.
        drop(late);
    }

    fn free_idle(&self) -> Freed {
        // The pool that asks for it may be this one, which is locked then. Nobody waits for the lock of another pool with a lock of
        // its own; `locked` tells that it is free.
        let closed = self.state.try_lock().is_some_and(|mut state| state.close_an_idle_one());
        if closed { Freed::Soon } else { Freed::Nothing }
    }

    /// An instance is in a task of its own, so what it holds is not known here.
    fn idle(&self) -> Idle {
        let is_idle = |instance: &&Arc<InstanceState>| instance.in_flight() == 0;
        Idle {
            instances: self.locked(|state| state.open.iter().filter(is_idle).count()),
            held: 0,
        }
    }
}

impl Drop for AsyncPool {
    fn drop(&mut self) {
        self.state.get_mut().close(|_| true);
    }
}
