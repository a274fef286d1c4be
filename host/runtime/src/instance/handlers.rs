//! The handlers and listeners of a version of a module, as the core calls them.

use std::future::ready;
use std::sync::Arc;

use pointwork_core::{
    BodyMode, BoxFuture, Context, Crash, CrashKind, Delivery, Failure, FailureCode, Handler, HandlerFuture,
    IntoReply as _, Listener, Payload, RequestLimits, Sharded, within,
};

use super::async_pool::AsyncPool;
use super::call::{Call, Event, Request};
use super::reentrancy::{Idle, PoolByLevel};
use super::sync_pool::SyncPool;
use crate::component::inspect::Form;
use crate::component::module_pre::ModulePre;
use crate::component::pool_account::{Freed, IdleInstances};
use crate::guest::payload::payload_out;
use crate::scheduling::admission::InFlight;
use crate::scheduling::call_history::{CallHistories, CallHistory, Callee};
use crate::scheduling::threads::Threads;
use crate::variables::Values;

/// The instances of a version of a module, and the history of its calls.
pub(crate) struct Instances {
    pub(crate) pre: Arc<ModulePre>,
    pub(crate) histories: CallHistories,
    threads: Arc<Threads>,
    pools: Pools,
}

enum Pools {
    Sync(PoolByLevel<SyncPool>),
    Async(PoolByLevel<AsyncPool>),
}

impl Instances {
    pub(crate) fn new(pre: Arc<ModulePre>, threads: Arc<Threads>) -> Arc<Self> {
        let pools = match pre.form {
            Form::Synchronous => Pools::Sync(PoolByLevel::new(SyncPool::new(pre.clone(), threads.clone()))),
            Form::Asynchronous => Pools::Async(PoolByLevel::new(AsyncPool::new(pre.clone(), threads.clone()))),
        };
        let instances = Arc::new(Self {
            histories: pre.version.admission.histories(),
            pre,
            threads,
            pools,
        });
        let weak = Arc::downgrade(&instances);
        instances.pre.tenancy.serves(weak);
        instances
    }

    /// The same version with these variables, without instances and without history.
    pub(crate) fn fresh(&self, variables: Values) -> Arc<Self> {
        Self::new(Arc::new(self.pre.fresh(variables)), self.threads.clone())
    }

    /// Frees instances that were idle for too long, or every idle one if the version is retired.
    pub(crate) fn shrink(&self) {
        match &self.pools {
            Pools::Sync(pools) => pools.shrink(),
            Pools::Async(pools) => pools.shrink(),
        }
    }

    pub(crate) fn idle(&self) -> Idle {
        match &self.pools {
            Pools::Sync(pools) => pools.idle(),
            Pools::Async(pools) => pools.idle(),
        }
    }

    /// Runs a call that as many other calls of the module wait for.
    fn run<C: Call>(&self, call: C, reentrance: usize, in_flight: InFlight) -> BoxFuture<'static, C::Output> {
        call.history().called();
        match &self.pools {
            Pools::Sync(pools) => SyncPool::run(pools.at(reentrance), call, in_flight),
            Pools::Async(pools) => AsyncPool::run(pools.at(reentrance), call, in_flight),
        }
    }

    /// A handler by its number, for the route of that name; the name of the handler is for the log.
    pub(crate) fn handler(
        self: &Arc<Self>,
        number: u32,
        body: BodyMode,
        route: String,
        name: impl FnOnce() -> String,
    ) -> Arc<dyn Handler> {
        Arc::new(WasmHandler {
            instances: self.clone(),
            history: Sharded::of(self.histories.counted(Callee::Handler(number), route, name)),
            number,
            body,
        })
    }

    /// A listener by its number. The name is its channel and event.
    pub(crate) fn listener(self: &Arc<Self>, number: u32, name: &str) -> Arc<dyn Listener> {
        let (histories, callee) = (&self.histories, Callee::Listener(number));
        Arc::new(WasmListener {
            instances: self.clone(),
            history: Sharded::of(histories.counted(callee, name.to_owned(), || name.to_owned())),
            retry_history: Sharded::of(histories.uncounted(callee, || name.to_owned())),
            number,
        })
    }
}

impl IdleInstances for Instances {
    fn free_idle(&self) -> Freed {
        match &self.pools {
            Pools::Sync(pools) => pools.free_idle(),
            Pools::Async(pools) => pools.free_idle(),
        }
    }
}

struct WasmHandler {
    instances: Arc<Instances>,
    history: Sharded<Arc<CallHistory>>,
    number: u32,
    body: BodyMode,
}

impl Handler for WasmHandler {
    fn call(&self, context: Context) -> HandlerFuture {
        let in_flight = match self.instances.pre.version.admission.admit(self.history.local()) {
            Ok(in_flight) => in_flight,
            Err(left) => {
                let failure = Failure::of(FailureCode::OVERLOADED, "the server is busy").retry_after(left);
                return Box::pin(ready(failure.into_reply()));
            }
        };
        let request = Request {
            handler: self.number,
            history: self.history.local().clone(),
            context,
        };
        // No other call waits for a request.
        self.instances.run(request, 0, in_flight)
    }

    fn limits(&self) -> RequestLimits {
        let own = &self.instances.pre.version.limits;
        let mut limits = RequestLimits::default();
        limits.body_mode = self.body;
        limits.deadline = own.deadline;
        limits.body = own.body;
        limits.json_body = Some(own.json_body);
        limits.json_values = Some(own.json_values);
        limits.stream_body = own.stream_body;
        limits.headers = Some(own.headers);
        limits
    }
}

struct WasmListener {
    instances: Arc<Instances>,
    history: Sharded<Arc<CallHistory>>,
    /// Attempts at a durable event after the first one: a trial counts the event once.
    retry_history: Sharded<Arc<CallHistory>>,
    number: u32,
}

impl Listener for WasmListener {
    fn deliver(&self, mut delivery: Delivery, payload: Payload) -> BoxFuture<'static, Result<Payload, Failure>> {
        let version = &self.instances.pre.version;
        let history = match delivery.attempt() {
            1 => self.history.local(),
            _ => self.retry_history.local(),
        };
        delivery.set_waiting(true);
        let in_flight = match version.admission.admit(history) {
            Ok(in_flight) => in_flight,
            Err(left) => {
                let message = format!("module `{}` is held back for another {left:?}", version.module);
                let failure = Failure::of(FailureCode::OVERLOADED, message).retry_after(left);
                return Box::pin(ready(Err(failure)));
            }
        };
        let payload = match payload_out(payload) {
            Ok(payload) => payload,
            Err(failure) => return Box::pin(ready(Err(failure))),
        };
        let reentrance = delivery.caller().chain().reentrance(&version.module);
        let arrived = version.clock.now();
        let event = Event {
            listener: self.number,
            history: history.clone(),
            delivery,
            payload,
            arrived,
        };
        let running = self.instances.run(event, reentrance, in_flight);
        let Some(deadline) = version.limits.deadline else {
            return running;
        };
        let threads = self.instances.threads.clone();
        Box::pin(async move {
            let ended = within(&*threads, arrived + deadline, running).await;
            ended.unwrap_or_else(|| {
                let message = format!("the listener took longer than {deadline:?}");
                let crash = Crash::new(CrashKind::Deadline, message).at_limit("deadline");
                Err(Failure::of_crash(crash))
            })
        })
    }
}
