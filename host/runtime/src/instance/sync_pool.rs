//! Modules of the synchronous form: an instance serves one call at a time.

use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use pointwork_core::{BoxFuture, HandlerFuture, Outcome};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime::{Store, Trap, UpdateDeadline};

use crate::component::module_pre::{Full, ModulePre, overloaded, trapped};
use crate::guest::Guest;
use crate::instance::call::{Call, Export, Exports, Request};
use crate::instance::offload::Offload;
use crate::instance::reentrancy::{Idle, InstancePool};
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::meter::slice_used;
use crate::scheduling::metrics::Counted;
use crate::scheduling::threads::Threads;

/// How many slices a call without a fiber may take before it is begun again on one.
const SLICES_WITHOUT_FIBER: u32 = 2;

/// The instances of a module of the synchronous form.
///
/// An instance that is done waits for its next call; one that trapped is never used again. A call runs on a fiber, so
/// that it can wait for an event and yield when its slice is over. A module that is pure does neither as a rule: it runs
/// as a plain call, which costs about half as much. Should such a call use up two slices, it is thrown away, which nobody
/// can tell since it is pure, and begun again on a fiber.
pub(crate) struct SyncPool {
    pre: Arc<ModulePre>,
    pure: bool,
    threads: Arc<Threads>,
    idle: Mutex<Vec<Warm>>,
    permits: Arc<Semaphore>,
}

/// An instance that waits for a call.
struct Warm {
    store: Store<Guest>,
    exports: Exports,
    served: u64,
    /// Whether it is thrown away after its next call.
    last: bool,
    since: Instant,
}

impl SyncPool {
    pub(crate) fn new(pre: Arc<ModulePre>, pure: bool, threads: Arc<Threads>) -> Self {
        let permits = Arc::new(Semaphore::new(pre.limits.instances));
        Self {
            pre,
            pure,
            threads,
            idle: Mutex::default(),
            permits,
        }
    }

    /// Runs a handler; at once, if the module is pure and an instance is idle.
    pub(crate) fn handle(self: Arc<Self>, request: Request, counted: Counted) -> HandlerFuture {
        // A plain call cannot leave the server's thread, where one that is known to loop or crash has no place.
        if self.pure
            && !request.history.loops()
            && !request.history.crashes_often()
            && let Some(outcome) = self.run_plain(&request)
        {
            return Box::pin(ready(outcome));
        }
        self.run(request, counted)
    }

    /// Runs a call on a fiber.
    pub(crate) fn run<C: Call>(self: Arc<Self>, call: C, counted: Counted) -> BoxFuture<'static, C::Output> {
        let (pre, threads) = (self.pre.clone(), self.threads.clone());
        let history = call.history().clone();
        let call = Box::pin(self.run_on_fiber(call, counted));
        Box::pin(Offload::<C>::new(call, history, pre, threads))
    }

    fn lock_idle(&self) -> MutexGuard<'_, Vec<Warm>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_idle(&self) -> Option<Warm> {
        self.lock_idle().pop()
    }

    /// Makes room for one instance more, if those that are idle leave none.
    fn make_room(&self) {
        let mut idle = self.lock_idle();
        // The first is the one that was idle for the longest time.
        let first = (idle.len() > self.permits.available_permits()).then(|| idle.remove(0));
        // Freeing takes its time; nobody has to wait for it.
        drop(idle);
        drop(first);
    }

    /// Keeps an instance for the next call, if it may serve one.
    fn keep(&self, mut warm: Warm) {
        warm.served += 1;
        if !warm.last && warm.served < self.pre.limits.reuse && !self.pre.is_retired() {
            warm.since = Instant::now();
            self.lock_idle().push(warm);
        }
    }

    /// A plain call on an idle instance; `None` if there is none, or the call is not one to be made without a fiber.
    fn run_plain(&self, request: &Request) -> Option<Outcome> {
        let mut warm = self.take_idle()?;
        warm.store.data_mut().begin_call(false);
        let result = warm
            .begin(request.clone())
            .and_then(|(handle, params)| handle.call(&mut warm.store, params));
        match result {
            Err(error) if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) => None,
            result => Some(self.end::<Request>(&request.history, warm, result)),
        }
    }

    async fn run_on_fiber<C: Call>(self: Arc<Self>, call: C, _counted: Counted) -> C::Output {
        let _permit = match self.permit().await {
            Ok(permit) => permit,
            Err(full) => return C::crashed(overloaded(&self.pre, full)),
        };
        let history = call.history().clone();
        let mut warm = match self.warm(history.crashes_often()).await {
            Ok(warm) => warm,
            Err(error) => return C::crashed(trapped(&self.pre, Some(&history), &error, None)),
        };
        warm.store.data_mut().begin_call(true);
        let result = match warm.begin(call) {
            Ok((export, params)) => export.call_async(&mut warm.store, params).await,
            Err(error) => Err(error),
        };
        self.end::<C>(&history, warm, result)
    }

    fn end<C: Call>(&self, history: &CallHistory, mut warm: Warm, result: wasmtime::Result<C::Results>) -> C::Output {
        match result {
            Ok(results) => {
                self.pre.metrics.succeeded();
                self.keep(warm);
                C::lift(results)
            }
            Err(error) => {
                let guest = warm.store.data_mut();
                C::crashed(trapped(&self.pre, Some(history), &error, Some(guest)))
            }
        }
    }

    async fn permit(&self) -> Result<OwnedSemaphorePermit, Full> {
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            return Ok(permit);
        }
        let limits = &self.pre.limits;
        let _waiting = self.pre.metrics.wait(limits.queue).ok_or(Full::Queue)?;
        match timeout(limits.queue_wait, self.permits.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            // Nobody closes the semaphore.
            Ok(Err(_)) | Err(_) => Err(Full::Instances),
        }
    }

    /// An instance for a call that has a permit. For one that is likely to crash, it is one that no other call ever has:
    /// those that are idle are left to the others.
    async fn warm(&self, alone: bool) -> wasmtime::Result<Warm> {
        if !alone {
            return match self.take_idle() {
                Some(warm) => Ok(warm),
                None => self.make().await,
            };
        }
        self.make_room();
        let mut warm = self.make().await?;
        warm.last = true;
        Ok(warm)
    }

    async fn make(&self) -> wasmtime::Result<Warm> {
        let mut store = self.pre.store()?;
        store.epoch_deadline_callback(|mut store| {
            let guest = store.data_mut();
            guest.slices += 1;
            if guest.on_fiber {
                slice_used();
                return Ok(UpdateDeadline::Yield(1));
            }
            Ok(if guest.slices < SLICES_WITHOUT_FIBER {
                UpdateDeadline::Continue(1)
            } else {
                UpdateDeadline::Interrupt
            })
        });
        store.data_mut().begin_call(true);
        store.set_epoch_deadline(1);
        let instance = self.pre.instance_pre.instantiate_async(&mut store).await?;
        let exports = Exports::of(&self.pre, &mut store, &instance)?;
        Ok(Warm {
            store,
            exports,
            served: 0,
            last: false,
            since: Instant::now(),
        })
    }
}

impl Warm {
    /// The export of a call and what to call it with.
    fn begin<C: Call>(&mut self, call: C) -> wasmtime::Result<(Export<C>, C::Params)> {
        self.store.set_epoch_deadline(1);
        Ok((self.exports.get::<C>()?, call.lower(self.store.data_mut())?))
    }
}

impl InstancePool for SyncPool {
    fn another(&self) -> Self {
        Self::new(self.pre.clone(), self.pure, self.threads.clone())
    }

    fn shrink(&self) {
        let now = Instant::now();
        let mut idle = self.lock_idle();
        // The one that came last is taken first, so the oldest are in front.
        let old = if self.pre.is_retired() {
            idle.len()
        } else {
            let allowed = self.pre.limits.idle;
            idle.partition_point(|warm| now.saturating_duration_since(warm.since) > allowed)
        };
        let old: Vec<_> = idle.drain(..old).collect();
        // Freeing takes its time; nobody has to wait for it.
        drop(idle);
        drop(old);
    }

    fn idle(&self) -> Idle {
        let mut idle = self.lock_idle();
        Idle {
            instances: idle.len(),
            held: idle.iter_mut().map(|warm| warm.store.data_mut().held()).sum(),
        }
    }
}
