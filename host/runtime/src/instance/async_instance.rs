//! One instance of an asynchronous module: it serves several calls at a time.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use parking_lot::Mutex;
use pointwork_core::{Crash, CrashKind, Executor as _, Shard, within};
use tokio::sync::{Notify, SetOnce, oneshot};
use wasmtime::component::Accessor;
use wasmtime::{AsContextMut as _, Store};

use super::async_pool::AsyncPool;
use super::call::{Call, Exports, Queued, QueuedCall};
use super::crashes::{Blame, crash, drained, trapped};
use crate::ModuleLimits;
use crate::component::module_pre::{ModulePre, end_slice};
use crate::component::pool_account::InstanceSlot;
use crate::guest::Guest;
use crate::guest::spans::{SliceOf, slice_ended};
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::driver_slot::DriverSlot;
use crate::scheduling::meter::{SLICE, take_slice_used};
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
    /// The histories of these calls, as far as the guest has begun them.
    running: Mutex<Vec<Shard<Arc<CallHistory>>>>,
    /// The history of the call because of which the instance is given up.
    overdue: OnceLock<Shard<Arc<CallHistory>>>,
    /// The number of calls that it took.
    served: AtomicU64,
    offered: Mutex<Offered>,
    /// Calls in flight that nobody waits for any more.
    abandoned: AtomicUsize,
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
    give_up: Notify,
    /// Whether its calls have begun, so that a request may poll the driver.
    is_started: AtomicBool,
    /// Whether its guest used up a time slice: requests leave the driver to the scheduler threads until those poll the driver.
    is_left_to_scheduler: AtomicBool,
    pub(super) driver: OnceLock<Arc<DriverSlot<Crash>>>,
    last_call_ended: Mutex<Option<Instant>>,
    /// Set when the instance is gone: the crash of every call that it did not end.
    pub(crate) end: SetOnce<Crash>,
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
            running: Mutex::default(),
            overdue: OnceLock::default(),
            served: AtomicU64::new(1),
            offered: Mutex::new(Offered::Nothing),
            abandoned: AtomicUsize::default(),
            closed: AtomicBool::default(),
            is_for_long: AtomicBool::new(is_for_long),
            has_long_call: AtomicBool::default(),
            busy: AtomicBool::default(),
            slices_after_calls: AtomicU32::default(),
            give_up: Notify::default(),
            is_started: AtomicBool::default(),
            is_left_to_scheduler: AtomicBool::default(),
            driver: OnceLock::default(),
            last_call_ended: Mutex::default(),
            end: SetOnce::default(),
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

    /// Whether it serves calls beside one that computed for long.
    pub(super) fn mixes_calls(&self) -> bool {
        self.has_long_call.load(Ordering::Relaxed) && !self.is_for_long()
    }

    /// The calls that it can take now, of those that compute for long or of the others.
    pub(super) fn room(&self, of_long: bool, limits: &ModuleLimits) -> usize {
        if self.busy.load(Ordering::Relaxed) || self.is_closed() || self.is_for_long() != of_long {
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

    fn end_call(&self, history: &Shard<Arc<CallHistory>>, body: usize, now: Instant) {
        let mut running = self.running.lock();
        if let Some(at) = running.iter().position(|running| Arc::ptr_eq(running, history)) {
            running.swap_remove(at);
        }
        drop(running);
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
            Some(culprit) => crash(Blame::Callee(&culprit)),
            None => {
                let running: Vec<_> = self.running.lock().iter().map(|history| Arc::clone(history)).collect();
                crash(Blame::OneOf(&running))
            }
        }
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
        driver.poll_here();
        if take_slice_used() {
            self.leave_to_scheduler(true);
        }
    }

    /// Whether requests leave the driver to the scheduler threads.
    pub(super) fn leave_to_scheduler(&self, is_left: bool) {
        self.is_left_to_scheduler.store(is_left, Ordering::Relaxed);
    }

    /// Nobody waits for a call any more. Gives the instance up if the call has not ended by its deadline: a call of the guest
    /// is cancelled only by dropping its store, where its neighbours live too. They have [`GRACE`] to end first; if the call ends
    /// within it, they go on.
    pub(super) async fn watch_abandoned<T>(
        &self,
        mut output: oneshot::Receiver<T>,
        deadline: Option<Instant>,
        history: &Shard<Arc<CallHistory>>,
        pool: Weak<AsyncPool>,
        threads: &Threads,
    ) {
        self.abandoned.fetch_add(1, Ordering::Relaxed);
        let after = |time: Duration| threads.sleep_until(threads.now() + time);
        let deadline = deadline.unwrap_or_else(|| threads.now() + GRACE);
        if within(threads, deadline, &mut output).await.is_none() {
            self.close();
            // Calls that wait may need another instance.
            if let Some(pool) = pool.upgrade() {
                pool.distribute();
            }
            let neighbours_end = async {
                while self.in_flight() > self.abandoned.load(Ordering::Relaxed) {
                    after(NEIGHBOUR_PAUSE).await;
                }
            };
            let is_overdue = tokio::select! {
                // Its end lowers the number of calls in flight before this task sees it.
                biased;
                _ = output => false,
                () = neighbours_end => true,
                () = after(GRACE) => true,
            };
            if is_overdue {
                // Another call may be overdue already.
                let _ = self.overdue.set(history.clone());
                return self.give_up.notify_one();
            }
        }
        self.abandoned.fetch_sub(1, Ordering::Relaxed);
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

/// An instance that begins with a call.
pub(super) struct Driver {
    pub(super) pre: Arc<ModulePre>,
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
            () = state.give_up.notified() => None,
            result = serve(&pre, &pool, &queued, &state, &mut store, first) => Some(result),
        };
        match result {
            Some(Ok(())) => crash(&pre, CrashKind::Trap, "the instance ended"),
            Some(Err(error)) => {
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
            None => {
                if let Some(overdue) = state.overdue.get() {
                    pre.crashed(Blame::Callee(overdue));
                }
                let message = "the instance was given up: a call in it did not end by its deadline";
                crash(&pre, CrashKind::Trap, message)
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
        taken_by: _,
        held,
    } = queued;
    let export = C::export(exports);
    let (history, body) = (call.history().clone(), call.body());
    state.running.lock().push(history.clone());
    let (started, _slot) = accessor.with(|mut access| {
        access.as_context_mut().set_epoch_deadline(1);
        let guest = access.get();
        guest.begin_shared_call();
        let slot = guest.keep_slot(slot, call.history());
        let arrived = call.arrived();
        let params = call.lower(guest)?;
        let started = export.start_call_concurrent(&mut access, params)?;
        access
            .get()
            .task_started(started.task(), span, history.clone(), arrived);
        wasmtime::error::Ok((started, slot))
    })?;
    let task = started.task();
    let results = export.finish_call_concurrent(accessor, started).await?;
    let raised = accessor.with(|mut access| {
        let guest = access.get();
        let (in_flight, raised) = guest.task_ended(task);
        guest.free_slot();
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
    state.end_call(&history, body, pre.version.clock.now());
    // Nobody may wait for it.
    let _ = output.send(C::ended(results, raised, &history, &pre.version));
    Ok(())
}
