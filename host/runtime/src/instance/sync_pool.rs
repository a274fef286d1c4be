//! The instances of a synchronous module: each serves one call at a time.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use pointwork_core::{BoxFuture, Clock, Executor as _, Shard, Sharded, within};
use tokio::sync::{Mutex as Line, OwnedSemaphorePermit, Semaphore};
use wasmtime::Store;

use super::call::{Call, Exports};
use super::crashes::{Blame, Overload, overloaded, trapped};
use super::offload::offload;
use super::reentrancy::{Idle, InstancePool};
use crate::component::module_pre::ModulePre;
use crate::component::pool_account::{Freed, InstanceSlot};
use crate::guest::Guest;
use crate::guest::stream_permits::StreamPermit;
use crate::scheduling::admission::InFlight;
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::fibers::GuestWork;
use crate::scheduling::held_places::{HeldPlaces, RunningCall};
use crate::scheduling::meter::is_slice_used;
use crate::scheduling::threads::Threads;

/// The instances of a synchronous module.
///
/// An instance that served a call waits for the next one; an instance that trapped is never used again. A call runs on a
/// fiber, so that it can wait for an event and yield when its time slice is over.
pub(crate) struct SyncPool {
    pre: Arc<ModulePre>,
    threads: Arc<Threads>,
    /// The last one of a shard is taken first.
    idle: Sharded<Mutex<Vec<SyncInstance>>>,
    /// One permit for each instance that may exist.
    permits: Arc<Semaphore>,
    /// The number of calls that wait. Other calls wait behind those.
    waiting: AtomicUsize,
    /// Held by the first of the calls that wait.
    line: Line<()>,
    /// Whether other calls of the module wait for its calls. A handler may hold all of its instances: those calls would wait for ever.
    is_inner: bool,
}

struct SyncInstance {
    store: Store<Guest>,
    exports: Exports,
    served: u64,
    /// Whether it serves no call but the first.
    single_use: bool,
    idle_since: Instant,
    /// Dropped after the store.
    _room: Room,
}

/// The right to an instance. Those who wait are told when it is dropped.
struct Room {
    _permit: OwnedSemaphorePermit,
    _slot: InstanceSlot,
}

/// What a call runs in.
enum Found {
    Idle(SyncInstance),
    /// A new instance.
    Room(Room),
}

impl SyncPool {
    pub(crate) fn new(pre: Arc<ModulePre>, threads: Arc<Threads>) -> Self {
        let permits = Arc::new(Semaphore::new(pre.version.limits.instances));
        Self {
            pre,
            threads,
            idle: Sharded::default(),
            permits,
            waiting: AtomicUsize::new(0),
            line: Line::default(),
            is_inner: false,
        }
    }

    /// Runs a call, on the thread that polls it as long as it is short.
    pub(crate) fn run<C: Call>(pool: Shard<Arc<Self>>, call: C, in_flight: InFlight) -> BoxFuture<'static, C::Output> {
        let (serving, history) = (pool.clone(), call.history().clone());
        let work = GuestWork::new(async move {
            let _in_flight = in_flight;
            serving.serve(call).await
        });
        Box::pin(async move { offload::<C>(work, &history, &pool.pre, &pool.threads).await })
    }

    async fn serve<C: Call>(&self, call: C) -> C::Output {
        let history = call.history().clone();
        let crashes = history.crashes_often();
        let (slot, found, _running) = match self.admit(call.streams(), &history).await {
            Ok(admitted) => admitted,
            Err(overload) => return C::crashed(overloaded(&self.pre, overload)),
        };
        let mut instance = match found {
            Found::Idle(instance) => instance,
            Found::Room(room) => match self.instantiate(room, crashes).await {
                Ok(instance) => instance,
                Err(error) => return C::crashed(trapped(&self.pre, Blame::Instantiation, &error, None)),
            },
        };
        match holding(instance.call(call, slot), &history, &self.pre.version.clock).await {
            Ok(results) => {
                let raised = instance.store.data_mut().take_raised();
                self.keep(instance);
                C::ended(results, raised, &history, &self.pre.version)
            }
            Err(error) => {
                let guest = instance.store.data_mut();
                C::crashed(trapped(&self.pre, Blame::Callee(&history), &error, Some(guest)))
            }
        }
    }

    /// The slot of a call that streams, the instance or room for it, and what counts it.
    async fn admit<'a>(
        &self,
        streams: bool,
        history: &'a Arc<CallHistory>,
    ) -> Result<(Option<StreamPermit>, Found, RunningCall<'a>), Overload> {
        let mut slot = None;
        if self.is_inner || !(history.places().are_awaited() || self.is_taken_by(history, false)) {
            slot = Some(self.pre.version.streams.take_if(streams).await?);
            let is_first = self.waiting.load(Ordering::SeqCst) == 0;
            if let Some((found, running)) = is_first.then(|| self.find_for(history)).flatten() {
                return Ok((slot.flatten(), found, running));
            }
        }
        let limits = &self.pre.version.limits;
        let waits = self.pre.version.admission.wait(history, limits.queue);
        let _waits = waits.ok_or(Overload::Queue)?;
        let finding = async {
            // The first in the line may wait for the end of a call that waits for this one.
            let turn = if self.is_inner {
                None
            } else {
                Some(history.places().turn().await)
            };
            loop {
                // Before its slot: calls that wait for their handler would have the slots of others.
                if let Some(turn) = &turn {
                    turn.until_free(|| self.is_taken_by(history, false)).await;
                }
                let with_slot = match slot.take() {
                    Some(slot) => slot,
                    None => self.pre.version.streams.take_if(streams).await?,
                };
                if let Some((found, running)) = self.wait_in_line(history).await {
                    return Ok((with_slot, found, running));
                }
            }
        };
        let found = within(&*self.threads, self.threads.now() + limits.queue_wait, finding).await;
        found.unwrap_or_else(|| {
            Err(if self.is_taken_by(history, false) {
                Overload::Share
            } else if self.permits.available_permits() == 0 {
                Overload::Instances
            } else {
                Overload::Pool
            })
        })
    }

    /// Waits behind one call of each other handler. `None` if the share of the handler is used up before the call gets an instance.
    async fn wait_in_line<'a>(&self, history: &'a CallHistory) -> Option<(Found, RunningCall<'a>)> {
        let _waiting = CountedWait::new(&self.waiting);
        let _first = self.line.lock().await;
        loop {
            let freed = self.pre.tenancy.next_freed();
            if self.is_taken_by(history, false) {
                return None;
            }
            if let Some(found) = self.find_for(history) {
                return Some(found);
            }
            freed.wait().await;
        }
    }

    /// Whether a handler has its share of the instances, without the call that asks, which may be counted.
    fn is_taken_by(&self, history: &CallHistory, is_counted: bool) -> bool {
        let share = self.pre.handler_share();
        let limit = self.pre.version.limits.instances;
        let exist = limit.saturating_sub(self.permits.available_permits());
        !self.is_inner && share.can_be_held(exist) && history.has_its_instances(share, self.threads.now(), is_counted)
    }

    /// An instance for a call of a handler, unless other calls of the handler have its share. Calls that arrive at the same time all see
    /// that the share is free: each is counted, takes an instance, and looks again.
    fn find_for<'a>(&self, history: &'a CallHistory) -> Option<(Found, RunningCall<'a>)> {
        let running = HeldPlaces::run(history);
        let found = self.find(history.crashes_often())?;
        if !self.is_taken_by(history, true) {
            return Some((found, running));
        }
        if let Found::Idle(instance) = found {
            self.put_back(instance);
        }
        None
    }

    fn put_back(&self, instance: SyncInstance) {
        self.idle.local().lock().push(instance);
        self.pre.tenancy.tell();
    }

    /// An instance for a call. A call that is likely to crash gets one that serves no other call: idle ones are left to the
    /// others, unless they leave no room for another.
    fn find(&self, crashes: bool) -> Option<Found> {
        if !crashes && let Some(idle) = self.idle.all().find_map(|idle| idle.lock().pop()) {
            return Some(Found::Idle(idle));
        }
        let permits = || self.permits.clone().try_acquire_owned().ok();
        let permit = permits().or_else(|| {
            drop(crashes.then(|| self.take_oldest())?);
            permits()
        });
        let (permit, slot) = (permit?, self.pre.tenancy.take()?);
        Some(Found::Room(Room {
            _permit: permit,
            _slot: slot,
        }))
    }

    async fn instantiate(&self, room: Room, single_use: bool) -> wasmtime::Result<SyncInstance> {
        let mut store = self.pre.store()?;
        let instance = self.pre.instantiate(&mut store).await?;
        let exports = Exports::find(&self.pre, &mut store, &instance)?;
        Ok(SyncInstance {
            store,
            exports,
            served: 0,
            single_use,
            idle_since: self.threads.now(),
            _room: room,
        })
    }

    /// Keeps an instance for the next call, if it may serve one.
    fn keep(&self, mut instance: SyncInstance) {
        let guest = instance.store.data_mut();
        if guest.leaks(0) {
            return guest.log_leak();
        }
        instance.served += 1;
        let has_grown = guest.limits.has_grown();
        let is_used_up = has_grown || instance.single_use || instance.served >= self.pre.version.limits.reuse;
        if !is_used_up && !self.pre.is_retired() && !self.pre.tenancy.is_wanted() {
            instance.idle_since = self.threads.now();
            self.put_back(instance);
        }
    }

    /// The instance that is idle for the longest time.
    fn take_oldest(&self) -> Option<SyncInstance> {
        let since = |idle: &&Shard<Mutex<Vec<SyncInstance>>>| idle.lock().first().map(|oldest| oldest.idle_since);
        let shards = self.idle.all().filter(|idle| since(idle).is_some());
        let mut idle = shards.min_by_key(since)?.lock();
        // Another thread may have taken it just now.
        (!idle.is_empty()).then(|| idle.remove(0))
    }
}

/// Runs a call, which holds its instance from the first time that the call does not end at once.
async fn holding<T>(calling: impl Future<Output = T>, history: &Shard<Arc<CallHistory>>, clock: &Clock) -> T {
    let mut calling = pin!(calling);
    let (mut held, mut slices) = (None, 0_u32);
    poll_fn(|cx| {
        let polled = calling.as_mut().poll(cx);
        if polled.is_pending() {
            held.get_or_insert_with(|| HeldPlaces::hold(history, clock.now()));
            slices += u32::from(is_slice_used());
            if slices > 1 {
                history.computed_long();
            }
        }
        polled
    })
    .await
}

impl SyncInstance {
    async fn call<C: Call>(&mut self, call: C, slot: Option<StreamPermit>) -> wasmtime::Result<C::Results> {
        let Self { store, exports, .. } = self;
        store
            .data_mut()
            .begin_call(call.caller(), call.arrived(), call.audience());
        let _slot = store.data_mut().keep_slot(slot, call.history());
        store.set_epoch_deadline(1);
        let params = call.lower(store.data_mut())?;
        let results = C::export(exports).call_async(&mut *store, params).await;
        let guest = store.data_mut();
        guest.end_call();
        guest.end_lines();
        results
    }
}

impl InstancePool for SyncPool {
    fn another(&self) -> Self {
        let mut inner = Self::new(self.pre.clone(), self.threads.clone());
        inner.is_inner = true;
        inner
    }

    fn shrink(&self) {
        let now = self.threads.now();
        for idle in self.idle.all() {
            let mut idle = idle.lock();
            // The last one is taken first, so the oldest are in front.
            let old = if self.pre.is_retired() {
                idle.len()
            } else {
                let allowed = self.pre.version.limits.idle;
                idle.partition_point(|instance| now.saturating_duration_since(instance.idle_since) > allowed)
            };
            let old: Vec<_> = idle.drain(..old).collect();
            // Instances are freed after the lock: it takes its time.
            drop(idle);
            drop(old);
        }
    }

    fn free_idle(&self) -> Freed {
        self.take_oldest().map_or(Freed::Nothing, |_| Freed::Now)
    }

    fn idle(&self) -> Idle {
        let mut all = Idle::default();
        for idle in self.idle.all() {
            let mut idle = idle.lock();
            all.instances += idle.len();
            all.held += idle
                .iter_mut()
                .map(|instance| instance.store.data_mut().held())
                .sum::<usize>();
        }
        all
    }
}

/// Counts a call that waits until it is dropped.
struct CountedWait<'a>(&'a AtomicUsize);

impl<'a> CountedWait<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for CountedWait<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
