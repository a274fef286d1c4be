//! One instance of an asynchronous module: it serves several calls at a time.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use pointwork_core::{Crash, CrashKind, Executor as _, Shard};
use tokio::sync::{Notify, SetOnce};
use wasmtime::component::{Accessor, GuestTaskId};
use wasmtime::{AsContextMut as _, Store};

use super::async_pool::AsyncPool;
use super::call::{Call, Exports, Late, Queued, QueuedCall, SharedCall};
use super::crashes::{Blame, cleanup_exceeded, crash, drained, trapped};
use crate::ModuleLimits;
use crate::component::module_pre::{ModulePre, end_slice};
use crate::component::pool_account::InstanceSlot;
use crate::guest::Guest;
use crate::guest::slices::{SliceOf, slice_ended};
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::driver_slot::DriverSlot;
use crate::scheduling::meter::{SLICE, take_slice_used, unmetered};
use crate::scheduling::threads::Threads;

/// The time that the other calls of an instance have to end once it is given up.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// The time between two checks whether only abandoned calls are left in an instance.
const NEIGHBOUR_PAUSE: Duration = Duration::from_millis(50);

/// The part of the limit `memory` that the bodies of the calls of an instance take together, unless one alone takes more.
const BODIES: usize = 16;

/// The state that an instance shares with its pool and its callers.
pub(crate) struct InstanceState {
    /// Calls that the guest has not ended, whether somebody waits for them or not.
    in_flight: AtomicUsize,
    /// The length of their request bodies and payloads together, in bytes.
    bodies: AtomicUsize,
    /// These calls.
    calls: Mutex<Vec<TakenCall>>,
    /// The number of calls that it took.
    served: AtomicU64,
    offered: Mutex<Offered>,
    /// Whether it takes no further calls.
    closed: AtomicBool,
    /// Whether it serves calls that compute for long, and no others.
    is_for_long: AtomicBool,
    /// Whether one of its calls computed for long since it was idle.
    has_long_call: AtomicBool,
    /// Whether its guest does not let go of the processor, so that it takes no call.
    pub(super) busy: AtomicBool,
    /// The time slices in which code ran that goes on after its call.
    slices_after_calls: AtomicU32,
    /// Notified when a call has to end.
    late_call: Notify,
    /// Whether its calls have begun, so that a request may poll the driver.
    is_started: AtomicBool,
    /// Whether its guest used up a time slice: requests leave the driver to the scheduler threads until those poll the driver.
    is_left_to_scheduler: AtomicBool,
    pub(super) driver: OnceLock<Arc<DriverSlot<Crash>>>,
    last_call_ended: Mutex<Option<Instant>>,
    /// Set when the instance is gone: the crash of every call that it did not end.
    pub(crate) end: SetOnce<Crash>,
    /// The call that the crash is of, if that is known.
    culprit: OnceLock<Arc<CallHistory>>,
}

/// A call that an instance took.
struct TakenCall {
    history: Shard<Arc<CallHistory>>,
    shared: Weak<SharedCall>,
    /// The guest's task, once the guest has begun it.
    task: Option<GuestTaskId>,
}

/// The calls of an instance, at least one of which has to end.
struct LateCalls {
    /// Why the first one has to, and its history.
    first: (Late, Shard<Arc<CallHistory>>),
    /// Whether a caller waits for a call that need not end.
    has_neighbours: bool,
    /// Whether a caller waits for any call of the instance.
    are_awaited: bool,
}

/// The call that a thread gave an idle instance past the queue of the pool.
#[allow(clippy::large_enum_variant, reason = "a box would be an allocation for each call")]
enum Offered {
    Nothing,
    Call(QueuedCall),
    /// The driver takes no call any more.
    Shut,
}

impl InstanceState {
    /// An instance that begins with a call with a body of that length.
    pub(super) fn with_a_call(body: usize, is_for_long: bool) -> Self {
        Self {
            in_flight: AtomicUsize::new(1),
            bodies: AtomicUsize::new(body),
            calls: Mutex::default(),
            served: AtomicU64::new(1),
            offered: Mutex::new(Offered::Nothing),
            closed: AtomicBool::default(),
            is_for_long: AtomicBool::new(is_for_long),
            has_long_call: AtomicBool::default(),
            busy: AtomicBool::default(),
            slices_after_calls: AtomicU32::default(),
            late_call: Notify::default(),
            is_started: AtomicBool::default(),
            is_left_to_scheduler: AtomicBool::default(),
            driver: OnceLock::default(),
            last_call_ended: Mutex::default(),
            end: SetOnce::default(),
            culprit: OnceLock::default(),
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// Whether it serves calls that compute for long, and no others.
    pub(super) fn is_for_long(&self) -> bool {
        self.is_for_long.load(Ordering::Relaxed)
    }

    /// Has it serve calls that compute for long, and no others, until it is idle.
    pub(super) fn serve_long(&self) {
        self.is_for_long.store(true, Ordering::Relaxed);
    }

    /// Has it serve other calls again.
    pub(super) fn serve_any(&self) {
        self.is_for_long.store(false, Ordering::Relaxed);
        self.has_long_call.store(false, Ordering::Relaxed);
    }

    /// Whether its guest has not let go of the processor for several slices.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    /// Whether a call of the handler may keep the guest busy: a call of the handler runs here, and no call here is known to loop.
    pub(super) fn may_be_kept_busy_by(&self, history: &CallHistory) -> bool {
        let calls = self.calls.lock();
        let mut of_handler = calls.iter().filter(|call| call.history.shares_handler(history));
        of_handler.next().is_some() && !calls.iter().any(|call| call.history.loops())
    }

    /// Whether it serves calls beside one that computed for long.
    pub(super) fn mixes_calls(&self) -> bool {
        self.has_long_call.load(Ordering::Relaxed) && !self.is_for_long()
    }

    /// The calls that it can take now, of those that compute for long or of the others.
    pub(super) fn room(&self, of_long: bool, limits: &ModuleLimits) -> usize {
        if self.is_busy() || self.is_closed() || self.is_for_long() != of_long {
            return 0;
        }
        let calls = limits.reuse.saturating_sub(self.served.load(Ordering::Relaxed));
        let places = limits.in_flight.saturating_sub(self.in_flight());
        places.min(usize::try_from(calls).unwrap_or(usize::MAX))
    }

    /// Whether it has memory for a body beside those of its calls. The guest decodes them, which takes a multiple of their lengths.
    pub(super) fn has_memory(&self, body: usize, limits: &ModuleLimits) -> bool {
        let bodies = self.bodies.load(Ordering::Relaxed);
        bodies == 0 || body == 0 || bodies.saturating_add(body) <= limits.memory / BODIES
    }

    /// It takes a call with a body of that length if it has room. Returns the number of calls that it took.
    pub(super) fn begin_call(&self, body: usize, is_long: bool, limits: &ModuleLimits) -> Option<u64> {
        // With the lock, an instance with one place is not given two calls.
        let _offered = self.offered.lock();
        (self.room(is_long, limits) > 0 && self.has_memory(body, limits)).then(|| self.count_call(body))
    }

    fn count_call(&self, body: usize) -> u64 {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.bodies.fetch_add(body, Ordering::Relaxed);
        self.served.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Gives the instance a call, if the instance is idle and this thread may run it. Returns the number of calls that the instance
    /// took. The caller polls the driver then.
    ///
    /// # Errors
    /// The call, which the instance does not take.
    #[allow(clippy::result_large_err, reason = "a box would be an allocation for each call")]
    pub(super) fn offer(
        self: &Arc<Self>,
        mut call: QueuedCall,
        limits: &ModuleLimits,
        now: Instant,
    ) -> Result<u64, QueuedCall> {
        let mut offered = self.offered.lock();
        let is_idle = self.in_flight() == 0 && !self.is_left_to_scheduler.load(Ordering::Relaxed);
        if !is_idle || self.room(false, limits) == 0 || !matches!(*offered, Offered::Nothing) {
            return Err(call);
        }
        call.taken_by(self, now);
        let body = call.body();
        *offered = Offered::Call(call);
        Ok(self.count_call(body))
    }

    /// Takes the call that was offered last, with which no other can be offered any more.
    pub(super) fn shut(&self) -> Option<QueuedCall> {
        self.offered.lock().take(Offered::Shut)
    }

    pub(super) fn takes(&self, history: &Shard<Arc<CallHistory>>, shared: &Arc<SharedCall>) {
        self.calls.lock().push(TakenCall {
            history: history.clone(),
            shared: Arc::downgrade(shared),
            task: None,
        });
    }

    fn begins(&self, shared: &Arc<SharedCall>, task: GuestTaskId) {
        let mut calls = self.calls.lock();
        if let Some(call) = calls.iter_mut().find(|call| call.is(shared)) {
            call.task = Some(task);
        }
    }

    fn end_call(&self, shared: &Arc<SharedCall>, body: usize, now: Instant) {
        let mut calls = self.calls.lock();
        if let Some(at) = calls.iter().position(|call| call.is(shared)) {
            calls.swap_remove(at);
        }
        drop(calls);
        *self.last_call_ended.lock() = Some(now);
        self.busy.store(false, Ordering::Relaxed);
        self.bodies.fetch_sub(body, Ordering::Relaxed);
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether it has been idle for longer than that.
    pub(super) fn is_idle_for(&self, allowed: Duration, now: Instant) -> bool {
        let idle = |ended: Instant| now - ended > allowed;
        self.in_flight() == 0 && self.last_call_ended.lock().is_some_and(idle)
    }

    /// From now on it takes no calls, and ends with those that it has. Returns whether it took calls before.
    pub(super) fn close(&self) -> bool {
        let was_open = !self.closed.swap(true, Ordering::Relaxed);
        self.wake();
        was_open
    }

    /// The processor time of code that went on after its call, in whole slices.
    pub(super) fn used_after_calls(&self) -> Duration {
        SLICE.saturating_mul(self.slices_after_calls.load(Ordering::Relaxed))
    }

    /// Has it take calls.
    pub(super) fn wake(&self) {
        if let Some(driver) = self.driver.get() {
            driver.notify();
        }
    }

    /// Counts a crash of the instance against the culprit, or against the calls that run if the culprit is unknown.
    pub(super) fn blame<T>(&self, culprit: Option<Arc<CallHistory>>, crash: impl FnOnce(Blame<'_>) -> T) -> T {
        match culprit {
            Some(culprit) => crash(Blame::Callee(self.culprit.get_or_init(|| culprit))),
            None => {
                let calls = self.calls.lock();
                let running = calls.iter().filter(|call| call.task.is_some());
                let running: Vec<_> = running.map(|call| Arc::clone(&call.history)).collect();
                drop(calls);
                crash(Blame::OneOf(&running))
            }
        }
    }

    /// The crash of a call of that history, which ended with the instance. Only the report of the call that crashed has the details.
    pub(super) fn crash_of(&self, history: &CallHistory, end: &Crash) -> Crash {
        let mut crash = end.clone();
        if let Some(culprit) = self.culprit.get().filter(|culprit| !culprit.shares_handler(history)) {
            let cause = crash.message.lines().next().unwrap_or_default();
            crash.message = format!("a call of `{}` in the same instance crashed: {cause}", culprit.name);
        }
        crash
    }

    /// Whether another thread runs calls in it at this moment.
    pub(super) fn is_run(&self) -> bool {
        self.in_flight() > 0 && self.driver.get().is_some_and(|driver| driver.is_polled())
    }

    /// Has it take calls, and runs them on this thread as far as they go without waiting.
    pub(super) fn run_here(&self, threads: &Threads) {
        if !self.is_started.load(Ordering::Acquire) || self.is_left_to_scheduler.load(Ordering::Relaxed) {
            return self.wake();
        }
        let Some(driver) = self.driver.get() else { return };
        // Host functions wait with timers and sockets of tokio; the server's thread may have none.
        let _entered = threads.enter();
        unmetered(|| driver.poll_here());
        if take_slice_used() {
            self.leave_to_scheduler(true);
        }
    }

    /// Whether requests leave the driver to the scheduler threads.
    pub(super) fn leave_to_scheduler(&self, is_left: bool) {
        self.is_left_to_scheduler.store(is_left, Ordering::Relaxed);
    }

    /// A call has to end. The instance takes no further calls.
    pub(super) fn must_end(&self, call: &SharedCall, late: Late) {
        // There may be two reasons.
        let _ = call.late.set(late);
        self.close();
        self.late_call.notify_one();
    }

    /// The call of a task computed for too long after its client had left.
    fn cleanup_is_over(&self, task: GuestTaskId) {
        let calls = self.calls.lock();
        let call = calls.iter().find(|call| call.task == Some(task));
        let shared = call.and_then(|call| call.shared.upgrade());
        drop(calls);
        if let Some(shared) = shared.filter(|shared| shared.late.get().is_none()) {
            self.must_end(&shared, Late::Cleanup);
        }
    }

    /// `None` if no call has to end.
    fn late_calls(&self) -> Option<LateCalls> {
        let calls = self.calls.lock();
        let calls = calls
            .iter()
            .filter_map(|call| Some((&call.history, call.shared.upgrade()?)));
        let calls: Vec<_> = calls.collect();
        let mut late = calls
            .iter()
            .filter_map(|(history, call)| Some((*call.late.get()?, *history)));
        let (late, history) = late.next()?;
        let mut awaited = calls
            .iter()
            .filter(|(_, call)| !call.is_abandoned.load(Ordering::Relaxed));
        Some(LateCalls {
            first: (late, history.clone()),
            has_neighbours: awaited.clone().any(|(_, call)| call.late.get().is_none()),
            are_awaited: awaited.next().is_some(),
        })
    }

    /// Completes when the instance has to end because of a call: a call of the guest is cancelled only by dropping its store, where
    /// its neighbours live too. They have [`GRACE`] to end first; if the call ends within it, they go on.
    async fn given_up(&self, pool: &Weak<AsyncPool>, threads: &Threads) -> LateCalls {
        loop {
            self.late_call.notified().await;
            // Calls that wait may need another instance.
            if let Some(pool) = pool.upgrade() {
                pool.distribute();
            }
            let end = threads.now() + GRACE;
            while let Some(late) = self.late_calls() {
                if !late.has_neighbours || threads.now() >= end {
                    return late;
                }
                threads.sleep_until(end.min(threads.now() + NEIGHBOUR_PAUSE)).await;
            }
        }
    }

    /// The next call, that was offered or is in the queue of the pool; `None` once the instance is closed. Whoever adds a call polls
    /// the driver or has it polled, see [`wake`](Self::wake).
    fn poll_next(self: &Arc<Self>, pool: &Weak<AsyncPool>, queued: &AtomicUsize) -> Poll<Option<QueuedCall>> {
        if self.is_closed() {
            return Poll::Ready(self.shut());
        }
        let offered = self.offered.lock().take(Offered::Nothing);
        if offered.is_some() {
            return Poll::Ready(offered);
        }
        if queued.load(Ordering::Relaxed) == 0 {
            return Poll::Pending;
        }
        match pool.upgrade() {
            Some(pool) => pool.take(self).map_or(Poll::Pending, |call| Poll::Ready(Some(call))),
            None => Poll::Ready(self.shut()),
        }
    }
}

impl Offered {
    fn take(&mut self, left: Self) -> Option<QueuedCall> {
        match std::mem::replace(self, left) {
            Self::Call(call) => Some(call),
            Self::Nothing | Self::Shut => None,
        }
    }
}

impl TakenCall {
    fn is(&self, shared: &Arc<SharedCall>) -> bool {
        std::ptr::eq(self.shared.as_ptr(), Arc::as_ptr(shared))
    }
}

/// An instance that begins with a call.
pub(super) struct Driver {
    pub(super) pre: Arc<ModulePre>,
    pub(super) threads: Arc<Threads>,
    pub(super) pool: Weak<AsyncPool>,
    /// The number of calls in the queue of the pool.
    pub(super) queued: Arc<AtomicUsize>,
    pub(super) state: Arc<InstanceState>,
    pub(super) slot: InstanceSlot,
    pub(super) first: QueuedCall,
}

impl Driver {
    /// Runs the instance until it traps, is given up or closed. Returns the crash of the calls that it did not end.
    pub(super) async fn drive(self) -> Crash {
        let Self {
            pre,
            threads,
            pool,
            queued,
            state,
            slot: _slot,
            first,
        } = self;
        let mut store = match pre.store() {
            Ok(store) => store,
            Err(error) => return trapped(&pre, Blame::Instantiation, &error, None),
        };
        let of_store = state.clone();
        store.epoch_deadline_callback(move |mut store| {
            match slice_ended(&mut store)? {
                SliceOf::Call => {}
                SliceOf::LongCall => of_store.has_long_call.store(true, Ordering::Relaxed),
                SliceOf::Cleanup(task) => of_store.cleanup_is_over(task),
                SliceOf::EndedCall => {
                    of_store.slices_after_calls.fetch_add(1, Ordering::Relaxed);
                }
            }
            end_slice(store)
        });
        let result = tokio::select! {
            // What ends calls comes first: the calls must not go on with what fails for the same reason.
            biased;
            () = pre.cut.cancelled() => return drained(&pre),
            late = state.given_up(&pool, &threads) => Err(late),
            result = serve(&pre, &pool, &queued, &state, &mut store, first) => Ok(result),
        };
        match result {
            Ok(Ok(())) => crash(&pre, CrashKind::Trap, "the instance ended"),
            Ok(Err(error)) => {
                let guest = store.data_mut();
                let end = if state.is_started.load(Ordering::Relaxed) {
                    state.blame(guest.take_culprit(), |blame| trapped(&pre, blame, &error, Some(guest)))
                } else {
                    trapped(&pre, Blame::Instantiation, &error, Some(guest))
                };
                if state.in_flight() == 0 {
                    // Code that went on after its call: no call reports the crash.
                    pre.version.admission.report(end.clone());
                }
                end
            }
            Err(LateCalls {
                first: (late, history),
                are_awaited,
                ..
            }) => {
                if late == Late::Overdue {
                    pre.crashed(Blame::Callee(&history));
                }
                let end = match late {
                    Late::Cleanup => cleanup_exceeded(&pre, ""),
                    Late::Overdue | Late::Abandoned => {
                        let message = "the instance was given up: a call in it did not end by its deadline";
                        crash(&pre, CrashKind::Trap, message)
                    }
                };
                if !are_awaited {
                    pre.version.admission.report(end.clone());
                }
                end
            }
        }
    }
}

async fn serve(
    pre: &ModulePre,
    pool: &Weak<AsyncPool>,
    queued: &AtomicUsize,
    state: &Arc<InstanceState>,
    store: &mut Store<Guest>,
    first: QueuedCall,
) -> wasmtime::Result<()> {
    let instance = pre.instantiate(store).await?;
    let exports = Exports::find(pre, store, &instance)?;
    let most = pre.version.limits.in_flight;
    store
        .run_concurrent(async |accessor| {
            state.is_started.store(true, Ordering::Release);
            let mut running = FuturesUnordered::new();
            running.push(start(accessor, &exports, pre, state, first));
            let mut is_open = true;
            while is_open || !running.is_empty() {
                tokio::select! {
                    biased;
                    Some(ended) = running.next(), if !running.is_empty() => {
                        ended?;
                        if state.in_flight() > 0 {
                            continue;
                        }
                        // Another module may wait for the place of an idle instance.
                        pre.tenancy.tell();
                        if queued.load(Ordering::Relaxed) > 0 && let Some(pool) = pool.upgrade() {
                            pool.became_idle();
                        }
                    }
                    call = poll_fn(|_| state.poll_next(pool, queued)), if is_open && running.len() < most => match call {
                        Some(call) => running.push(start(accessor, &exports, pre, state, call)),
                        None => is_open = false,
                    },
                }
            }
            Ok(())
        })
        .await?
}

async fn start(
    accessor: &Accessor<Guest>,
    exports: &Exports,
    pre: &ModulePre,
    state: &InstanceState,
    call: QueuedCall,
) -> wasmtime::Result<()> {
    match call {
        QueuedCall::Request(queued) => run(accessor, exports, pre, state, queued).await,
        QueuedCall::Event(queued) => run(accessor, exports, pre, state, queued).await,
    }
}

async fn run<C: Call>(
    accessor: &Accessor<Guest>,
    exports: &Exports,
    pre: &ModulePre,
    state: &InstanceState,
    queued: Queued<C>,
) -> wasmtime::Result<()> {
    let Queued {
        call,
        slot,
        span,
        output,
        shared,
        held,
    } = queued;
    let export = C::export(exports);
    let (history, body) = (call.history().clone(), call.body());
    let (started, _slot) = accessor.with(|mut access| {
        access.as_context_mut().set_epoch_deadline(1);
        let guest = access.get();
        guest.begin_shared_call();
        let slot = guest.keep_slot(slot, call.history());
        let (arrived, audience) = (call.arrived(), call.audience());
        let params = call.lower(guest)?;
        let started = export.start_call_concurrent(&mut access, params)?;
        access
            .get()
            .task_started(started.task(), span, history.clone(), arrived, audience);
        state.begins(&shared, started.task());
        wasmtime::error::Ok((started, slot))
    })?;
    let task = started.task();
    let results = export.finish_call_concurrent(accessor, started).await?;
    let raised = accessor.with(|mut access| {
        let guest = access.get();
        let (in_flight, raised) = guest.task_ended(task);
        guest.end_call();
        if guest.leaks(in_flight) && state.close() {
            guest.log_leak();
        }
        if guest.limits.has_grown() {
            state.close();
        }
        raised
    });
    // Before the caller goes on: its next call finds the place.
    drop(held);
    state.end_call(&shared, body, pre.version.clock.now());
    // Nobody may wait for it.
    let _ = output.send(C::ended(results, raised, &history, &pre.version));
    Ok(())
}
