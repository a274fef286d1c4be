//! Modules of the synchronous form: an instance serves one request at a time.

use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};

use pointwork_core::{Context, HandlerFuture, Outcome};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use wasmtime::component::{Resource, TypedFunc};
use wasmtime::{Store, Trap, UpdateDeadline};

use crate::bindings::types;
use crate::executor::Threads;
use crate::guest::Guest;
use crate::module::{Run, Template, overloaded, trapped};
use crate::offload::{Offload, slice_used};
use crate::reply::outcome_in;

type Handle = TypedFunc<(u32, Resource<Context>), (types::Outcome,)>;

/// How many slices a call without a fiber may take before it is begun again on one.
const SLICES_WITHOUT_FIBER: u32 = 2;

/// The instances of a module of the synchronous form.
///
/// An instance that is done waits for its next request; one that trapped is never used again. A call runs on a fiber, so
/// that it can wait for an event and yield when its slice is over. A module that is pure does neither as a rule: it runs
/// as a plain call, which costs about half as much. Should such a call use up two slices, it is thrown away, which nobody
/// can tell since it is pure, and begun again on a fiber.
pub(crate) struct Sequential {
    template: Arc<Template>,
    pure: bool,
    threads: Arc<Threads>,
    idle: Mutex<Vec<Warm>>,
    permits: Arc<Semaphore>,
}

/// An instance that waits for a request.
struct Warm {
    store: Store<Guest>,
    handle: Handle,
}

impl Sequential {
    pub(crate) fn new(template: Arc<Template>, pure: bool, threads: Arc<Threads>) -> Self {
        let permits = Arc::new(Semaphore::new(template.limits.instances));
        Self {
            template,
            pure,
            threads,
            idle: Mutex::default(),
            permits,
        }
    }

    fn idle(&self) -> Option<Warm> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn keep(&self, warm: Warm) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(warm);
    }

    /// A plain call on an idle instance; `None` if there is none, or the call is not one to be made without a fiber.
    fn run_plain(&self, handler: u32, context: &Context) -> Option<Outcome> {
        let mut warm = self.idle()?;
        warm.store.data_mut().begin_call(false);
        let result = warm.arguments(handler, context.clone()).and_then(|arguments| {
            let handle = warm.handle;
            handle.call(&mut warm.store, arguments)
        });
        match result {
            Err(error) if error.downcast_ref::<Trap>() == Some(&Trap::Interrupt) => None,
            result => Some(self.end(warm, result)),
        }
    }

    async fn run_on_fiber(self: Arc<Self>, handler: u32, context: Context) -> Outcome {
        let Some(_permit) = self.permit().await else {
            return overloaded(&self.template);
        };
        let mut warm = match self.idle() {
            Some(warm) => warm,
            None => match self.make().await {
                Ok(warm) => warm,
                Err(error) => return trapped(&self.template, &error, None),
            },
        };
        warm.store.data_mut().begin_call(true);
        let result = match warm.arguments(handler, context) {
            Ok(arguments) => {
                let handle = warm.handle;
                handle.call_async(&mut warm.store, arguments).await
            }
            Err(error) => Err(error),
        };
        self.end(warm, result)
    }

    fn end(&self, mut warm: Warm, result: wasmtime::Result<(types::Outcome,)>) -> Outcome {
        match result {
            Ok((outcome,)) => {
                self.keep(warm);
                outcome_in(outcome)
            }
            Err(error) => trapped(&self.template, &error, warm.store.data_mut().take_panic()),
        }
    }

    async fn permit(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = self.permits.clone().try_acquire_owned() {
            return Some(permit);
        }
        timeout(self.template.limits.queue_wait, self.permits.clone().acquire_owned())
            .await
            .ok()?
            .ok()
    }

    async fn make(&self) -> wasmtime::Result<Warm> {
        let mut store = self.template.store();
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
        let instance = self.template.pre.instantiate_async(&mut store).await?;
        let handle = instance.get_typed_func(&mut store, self.template.handle)?;
        Ok(Warm { store, handle })
    }
}

impl Warm {
    fn arguments(&mut self, handler: u32, context: Context) -> wasmtime::Result<(u32, Resource<Context>)> {
        self.store.set_epoch_deadline(1);
        Ok((handler, self.store.data_mut().table.push(context)?))
    }
}

impl Run for Sequential {
    fn run(self: Arc<Self>, handler: u32, context: Context) -> HandlerFuture {
        if self.pure
            && let Some(outcome) = self.run_plain(handler, &context)
        {
            return Box::pin(ready(outcome));
        }
        let threads = self.threads.clone();
        Box::pin(Offload::new(Box::pin(self.run_on_fiber(handler, context)), threads))
    }
}
