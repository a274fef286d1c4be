//! The instances of a synchronous module: each serves one call at a time.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use pointwork_core::{BoxFuture, within};
use tokio::sync::{Mutex as Line, Semaphore, SemaphorePermit};
use wasmtime::Store;

use super::call::{Call, Exports};
use super::crashes::{Overload, overloaded, trapped};
use super::offload::offload;
use super::reentrancy::{Idle, InstancePool};
use crate::component::module_pre::ModulePre;
use crate::component::pool_account::{Freed, InstanceSlot};
use crate::guest::Guest;
use crate::guest::stream_permits::StreamPermit;
use crate::scheduling::admission::Counted;
use crate::scheduling::fibers::GuestWork;
use crate::scheduling::threads::Threads;

/// The instances of a synchronous module.
///
/// An instance that served a call waits for the next one; an instance that trapped is never used again. A call runs on a
/// fiber, so that it can wait for an event and yield when its time slice is over.
pub(crate) struct SyncPool {
    pre: Arc<ModulePre>,
    threads: Arc<Threads>,
    idle: Mutex<Vec<SyncInstance>>,
    /// One permit for each instance that may exist.
    permits: Semaphore,
    /// Held by the first of the calls that have a permit, and wait for room in the engine's pool.
    line: Line<()>,
}

struct SyncInstance {
    store: Store<Guest>,
    exports: Exports,
    served: u64,
    /// Whether it serves no call but the first.
    single_use: bool,
    idle_since: Instant,
    /// Dropped after the store.
    _slot: InstanceSlot,
}

/// What a call runs in.
enum Found {
    Idle(SyncInstance),
    /// A new instance.
    Room(InstanceSlot),
}

impl SyncPool {
    pub(crate) fn new(pre: Arc<ModulePre>, threads: Arc<Threads>) -> Self {
        let permits = Semaphore::new(pre.version.limits.instances);
        Self {
            pre,
            threads,
            idle: Mutex::default(),
            permits,
            line: Line::default(),
        }
    }

    /// Runs a call, on the thread that polls it as long as it is short.
    pub(crate) fn run<C: Call>(self: Arc<Self>, call: C, counted: Counted) -> BoxFuture<'static, C::Output> {
        let (pre, threads) = (self.pre.clone(), self.threads.clone());
        let history = call.history().clone();
        let work = GuestWork::new(async move {
            let _counted = counted;
            self.serve(call).await
        });
        Box::pin(offload::<C>(work, history, pre, threads))
    }

    async fn serve<C: Call>(&self, call: C) -> C::Output {
        let history = call.history().clone();
        let crashes = history.crashes_often();
        let (slot, _permit, found) = match self.admit(call.streams(), crashes).await {
            Ok(admitted) => admitted,
            Err(overload) => return C::crashed(overloaded(&self.pre, overload)),
        };
        let mut instance = match found {
            Found::Idle(instance) => instance,
            Found::Room(slot) => match self.instantiate(slot, crashes).await {
                Ok(instance) => instance,
                Err(error) => return C::crashed(trapped(&self.pre, Some(&history), &error, None)),
            },
        };
        match instance.call(call, slot).await {
            Ok(results) => {
                self.pre.version.admission.succeeded();
                self.keep(instance);
                C::lift(results, &self.pre.version)
            }
            Err(error) => {
                let guest = instance.store.data_mut();
                C::crashed(trapped(&self.pre, Some(&history), &error, Some(guest)))
            }
        }
    }

    /// The slot of a call that streams, the permit for an instance, and the instance or room for it.
    async fn admit(
        &self,
        streams: bool,
        crashes: bool,
    ) -> Result<(Option<StreamPermit>, SemaphorePermit<'_>, Found), Overload> {
        let slot = self.pre.version.streams.take_if(streams).await?;
        let permit = self.permits.try_acquire().ok();
        let found = permit.as_ref().and_then(|_| self.find(crashes));
        let (permit, found) = match (permit, found) {
            (Some(permit), Some(found)) => (permit, found),
            (permit, _) => self.wait(permit, crashes).await?,
        };
        Ok((slot, permit, found))
    }

    async fn wait<'a>(
        &'a self,
        permit: Option<SemaphorePermit<'a>>,
        crashes: bool,
    ) -> Result<(SemaphorePermit<'a>, Found), Overload> {
        let limits = &self.pre.version.limits;
        let _waiting = self.pre.version.admission.wait(limits.queue).ok_or(Overload::Queue)?;
        let until = Instant::now() + limits.queue_wait;
        let permit = match permit {
            Some(permit) => Some(permit),
            // Nobody closes the semaphore.
            None => within(&*self.threads, until, self.permits.acquire())
                .await
                .and_then(Result::ok),
        };
        let permit = permit.ok_or(Overload::Instances)?;
        let finding = async {
            let _first = self.line.lock().await;
            loop {
                let freed = self.pre.tenancy.next_freed();
                if let Some(found) = self.find(crashes) {
                    return found;
                }
                freed.wait().await;
            }
        };
        let found = within(&*self.threads, until, finding).await.ok_or(Overload::Pool)?;
        Ok((permit, found))
    }

    /// An instance for a call that has a permit. A call that is likely to crash gets one that serves no other call: idle
    /// ones are left to the others.
    fn find(&self, crashes: bool) -> Option<Found> {
        if crashes {
            self.make_room();
        } else if let Some(idle) = self.idle.lock().pop() {
            return Some(Found::Idle(idle));
        }
        self.pre.tenancy.take().map(Found::Room)
    }

    async fn instantiate(&self, slot: InstanceSlot, single_use: bool) -> wasmtime::Result<SyncInstance> {
        let mut store = self.pre.store()?;
        let instance = self.pre.instantiate(&mut store).await?;
        let exports = Exports::find(&self.pre, &mut store, &instance)?;
        Ok(SyncInstance {
            store,
            exports,
            served: 0,
            single_use,
            idle_since: Instant::now(),
            _slot: slot,
        })
    }

    /// Keeps an instance for the next call, if it may serve one.
    fn keep(&self, mut instance: SyncInstance) {
        let guest = instance.store.data_mut();
        if guest.leaks(0) {
            return guest.log_leak();
        }
        instance.served += 1;
        let is_used_up = instance.single_use || instance.served >= self.pre.version.limits.reuse;
        if !is_used_up && !self.pre.is_retired() && !self.pre.tenancy.is_wanted() {
            instance.idle_since = Instant::now();
            self.idle.lock().push(instance);
            self.pre.tenancy.tell();
        }
    }

    /// Frees the oldest idle instance if the idle ones leave no room for another.
    fn make_room(&self) {
        let mut idle = self.idle.lock();
        let oldest = (idle.len() > self.permits.available_permits()).then(|| idle.remove(0));
        // An instance is freed after the lock: it takes its time.
        drop(idle);
        drop(oldest);
    }
}

impl SyncInstance {
    async fn call<C: Call>(&mut self, call: C, slot: Option<StreamPermit>) -> wasmtime::Result<C::Results> {
        let Self { store, exports, .. } = self;
        store.data_mut().begin_call(call.caller(), call.arrived());
        let _slot = store.data_mut().keep_slot(slot, call.history());
        store.set_epoch_deadline(1);
        let params = call.lower(store.data_mut())?;
        let results = C::export(exports).call_async(&mut *store, params).await;
        let guest = store.data_mut();
        guest.free_slot();
        guest.end_lines();
        results
    }
}

impl InstancePool for SyncPool {
    fn another(&self) -> Self {
        Self::new(self.pre.clone(), self.threads.clone())
    }

    fn shrink(&self) {
        let now = Instant::now();
        let mut idle = self.idle.lock();
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

    fn free_idle(&self) -> Freed {
        let mut idle = self.idle.lock();
        let oldest = (!idle.is_empty()).then(|| idle.remove(0));
        // An instance is freed after the lock: it takes its time.
        drop(idle);
        oldest.map_or(Freed::Nothing, |_| Freed::Now)
    }

    fn idle(&self) -> Idle {
        let mut idle = self.idle.lock();
        Idle {
            instances: idle.len(),
            held: idle.iter_mut().map(|instance| instance.store.data_mut().held()).sum(),
        }
    }
}
