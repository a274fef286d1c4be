//! The two calls that an instance serves: a request for a handler, and an event for a listener.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use pointwork_core::{Audience, BodyMode, Caller, Context, Crash, Delivery, Failure, Outcome, Payload, Shard};
use tokio::sync::oneshot;
use wasmtime::Store;
use wasmtime::component::{ComponentNamedList, Instance, Lift, Lower, Resource, TypedFunc};

use super::async_instance::InstanceState;
use crate::component::module_pre::ModulePre;
use crate::guest::bindings::types;
use crate::guest::payload::payload_in;
use crate::guest::reply::{failure_in, outcome_in};
use crate::guest::spans::{Raised, TaskSpan};
use crate::guest::stream_permits::StreamPermit;
use crate::guest::{Guest, VersionState};
use crate::scheduling::call_history::CallHistory;
use crate::scheduling::held_places::{HeldPlace, HeldPlaces};

/// One call of an instance, with its arguments.
pub(crate) trait Call: Sized + Send + 'static {
    type Params: ComponentNamedList + Lower + Send + Sync + 'static;
    type Results: ComponentNamedList + Lift + Send + Sync + 'static;
    type Output: Send + 'static;

    fn export(exports: &Exports) -> Export<Self>;

    /// Puts the arguments into the instance's store.
    fn lower(self, guest: &mut Guest) -> wasmtime::Result<Self::Params>;

    /// The output of a call of that module.
    fn lift(results: Self::Results, version: &VersionState) -> Self::Output;

    fn crashed(crash: Crash) -> Self::Output;

    /// Reports the exception that ended the call. Returns the output for the client or the caller.
    fn raised(output: Self::Output, raised: Raised) -> Self::Output;

    /// The output of a call that the guest ended, also by an exception. The circuit breaker ignores exceptions: they are neither a
    /// crash nor a success.
    fn ended(
        results: Self::Results,
        raised: Option<Raised>,
        history: &CallHistory,
        version: &VersionState,
    ) -> Self::Output {
        let output = Self::lift(results, version);
        match raised {
            Some(raised) => {
                version.admission.raised(history, raised.is_of_client);
                Self::raised(output, raised)
            }
            None => {
                version.admission.succeeded(history);
                output
            }
        }
    }

    /// The length of the body that waits in memory for the handler, or of the payload, in bytes.
    fn body(&self) -> usize;

    /// The history of calls of the same handler or listener.
    fn history(&self) -> &Shard<Arc<CallHistory>>;

    /// Whether it may wait for its client from the start.
    fn streams(&self) -> bool;

    /// The chain that it runs in.
    fn caller(&self) -> &Caller;

    /// When the request or event arrived.
    fn arrived(&self) -> Instant;

    fn audience(&self) -> Audience;

    /// The call in the queue of a pool.
    fn queued(queued: Queued<Self>) -> QueuedCall;
}

pub(crate) type Export<C> = TypedFunc<<C as Call>::Params, <C as Call>::Results>;

/// The exports of an instance that calls go to.
pub(crate) struct Exports {
    handle: Export<Request>,
    deliver: Export<Event>,
}

impl Exports {
    pub(crate) fn find(pre: &ModulePre, store: &mut Store<Guest>, instance: &Instance) -> wasmtime::Result<Self> {
        Ok(Self {
            handle: instance.get_typed_func(&mut *store, pre.handle)?,
            deliver: instance.get_typed_func(&mut *store, pre.deliver)?,
        })
    }
}

/// A call in the queue of a pool, with the sender of its output.
pub(crate) struct Queued<C: Call> {
    pub(crate) call: C,
    pub(crate) slot: Option<StreamPermit>,
    pub(crate) span: TaskSpan,
    pub(crate) output: oneshot::Sender<C::Output>,
    pub(crate) shared: Arc<SharedCall>,
    /// Its place in that instance.
    pub(crate) held: Option<HeldPlace>,
}

/// The state of a call that its caller shares with the instance.
#[derive(Default)]
pub(crate) struct SharedCall {
    /// The instance that takes it.
    pub(super) taken_by: OnceLock<Arc<InstanceState>>,
    /// Whether nobody waits for it any more.
    pub(super) is_abandoned: AtomicBool,
    /// Why the instance has to end if the call does not.
    pub(super) late: OnceLock<Late>,
}

/// Why a call has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// Its deadline passed while somebody waited for it.
    Overdue,
    /// Nobody has waited for it for a while.
    Abandoned,
    /// It computed for too long after its client had left.
    Cleanup,
}

impl<C: Call> Queued<C> {
    fn taken_by(&mut self, instance: &Arc<InstanceState>, now: Instant) {
        self.held = Some(HeldPlaces::hold(self.call.history(), now));
        // A call is taken once.
        let _ = self.shared.taken_by.set(instance.clone());
        instance.takes(self.call.history(), &self.shared);
    }
}

#[allow(clippy::large_enum_variant, reason = "a box would be an allocation for each event")]
pub(crate) enum QueuedCall {
    Request(Queued<Request>),
    Event(Queued<Event>),
}

impl QueuedCall {
    pub(super) fn body(&self) -> usize {
        match self {
            Self::Request(queued) => queued.call.body(),
            Self::Event(queued) => queued.call.body(),
        }
    }

    pub(super) fn history(&self) -> &Arc<CallHistory> {
        match self {
            Self::Request(queued) => &queued.call.history,
            Self::Event(queued) => &queued.call.history,
        }
    }

    /// An instance takes it.
    pub(super) fn taken_by(&mut self, instance: &Arc<InstanceState>, now: Instant) {
        match self {
            Self::Request(queued) => queued.taken_by(instance, now),
            Self::Event(queued) => queued.taken_by(instance, now),
        }
    }
}

pub(crate) struct Request {
    pub(crate) handler: u32,
    pub(crate) history: Shard<Arc<CallHistory>>,
    pub(crate) context: Context,
}

impl Call for Request {
    type Params = (u32, Resource<Context>);
    type Results = (types::Outcome,);
    type Output = Outcome;

    fn export(exports: &Exports) -> Export<Self> {
        exports.handle
    }

    fn lower(self, guest: &mut Guest) -> wasmtime::Result<Self::Params> {
        Ok((self.handler, guest.table.push(self.context)?))
    }

    fn lift((outcome,): Self::Results, version: &VersionState) -> Outcome {
        outcome_in(outcome, version)
    }

    fn crashed(crash: Crash) -> Outcome {
        Outcome::Crashed(Box::new(crash))
    }

    fn body(&self) -> usize {
        self.context.body_in_memory()
    }

    fn raised(output: Outcome, Raised { crash, caller, .. }: Raised) -> Outcome {
        caller.report(crash);
        output
    }

    fn history(&self) -> &Shard<Arc<CallHistory>> {
        &self.history
    }

    fn streams(&self) -> bool {
        self.context.body_mode() == BodyMode::Stream || self.history.streams()
    }

    fn caller(&self) -> &Caller {
        self.context.caller()
    }

    fn arrived(&self) -> Instant {
        self.context.arrived()
    }

    fn audience(&self) -> Audience {
        self.context.audience()
    }

    fn queued(queued: Queued<Self>) -> QueuedCall {
        QueuedCall::Request(queued)
    }
}

pub(crate) struct Event {
    pub(crate) listener: u32,
    pub(crate) history: Shard<Arc<CallHistory>>,
    pub(crate) delivery: Delivery,
    pub(crate) payload: types::Payload,
    pub(crate) arrived: Instant,
}

impl Call for Event {
    type Params = (u32, Resource<Delivery>, types::Payload);
    type Results = (Result<types::Payload, types::Failure>,);
    type Output = Result<Payload, Failure>;

    fn export(exports: &Exports) -> Export<Self> {
        exports.deliver
    }

    fn lower(mut self, guest: &mut Guest) -> wasmtime::Result<Self::Params> {
        self.delivery.set_waiting(false);
        let delivery = guest.table.push(self.delivery)?;
        Ok((self.listener, delivery, self.payload))
    }

    fn lift((result,): Self::Results, version: &VersionState) -> Self::Output {
        let failed = |failure| failure_in(failure, &version.module);
        result.map(payload_in).map_err(failed)
    }

    fn crashed(crash: Crash) -> Self::Output {
        Err(Failure::of_crash(crash))
    }

    fn body(&self) -> usize {
        match &self.payload {
            types::Payload::Json(text) => text.len(),
            types::Payload::Bytes(binary) => binary.data.len(),
        }
    }

    fn raised(output: Self::Output, Raised { crash, caller, .. }: Raised) -> Self::Output {
        match output {
            // The bus reports the crash of a failure.
            Err(_) => Err(Failure::of_crash(crash)),
            Ok(_) => {
                caller.report(crash);
                output
            }
        }
    }

    fn history(&self) -> &Shard<Arc<CallHistory>> {
        &self.history
    }

    fn streams(&self) -> bool {
        self.history.streams()
    }

    fn caller(&self) -> &Caller {
        self.delivery.caller()
    }

    fn arrived(&self) -> Instant {
        self.arrived
    }

    fn audience(&self) -> Audience {
        self.delivery.audience()
    }

    fn queued(queued: Queued<Self>) -> QueuedCall {
        QueuedCall::Event(queued)
    }
}
