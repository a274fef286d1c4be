//! The two calls that an instance serves: a request for a handler, and an event for a listener.

use std::sync::Arc;
use std::time::Instant;

use pointwork_core::{Context, Crash, Delivery, Failure, FailureCode, Outcome, Payload};
use tokio::sync::oneshot;
use wasmtime::Store;
use wasmtime::component::{ComponentNamedList, Instance, Lift, Lower, Resource, TypedFunc};

use crate::component::module_pre::ModulePre;
use crate::guest::bindings::types;
use crate::guest::reply::outcome_in;
use crate::guest::{Guest, payload_in, payload_out};
use crate::scheduling::call_history::CallHistory;

/// One call of an instance, with its arguments.
pub(crate) trait Call: Sized + Send + 'static {
    type Params: ComponentNamedList + Lower + Send + Sync + 'static;
    type Results: ComponentNamedList + Lift + Send + Sync + 'static;
    type Output: Send + 'static;

    fn export(exports: &Exports) -> Option<Export<Self>>;

    /// Puts the arguments into the instance's store.
    fn lower(self, guest: &mut Guest) -> wasmtime::Result<Self::Params>;

    fn lift(results: Self::Results) -> Self::Output;

    fn crashed(crash: Crash) -> Self::Output;

    /// The history of calls of the same handler or listener.
    fn history(&self) -> &Arc<CallHistory>;

    /// When nobody waits for it any more; `None` if never.
    fn deadline(&self) -> Option<Instant>;

    /// The call in the queue of an instance that serves several.
    fn queued(queued: Queued<Self>) -> QueuedCall;
}

pub(crate) type Export<C> = TypedFunc<<C as Call>::Params, <C as Call>::Results>;

/// The exports of an instance that calls go to. A module without handlers or without listeners lacks one.
pub(crate) struct Exports {
    handle: Option<Export<Request>>,
    deliver: Option<Export<Event>>,
}

impl Exports {
    pub(crate) fn of(pre: &ModulePre, store: &mut Store<Guest>, instance: &Instance) -> wasmtime::Result<Self> {
        let handle = pre.handle.map(|index| instance.get_typed_func(&mut *store, index));
        let deliver = pre.deliver.map(|index| instance.get_typed_func(&mut *store, index));
        Ok(Self {
            handle: handle.transpose()?,
            deliver: deliver.transpose()?,
        })
    }

    /// The export for a call.
    ///
    /// # Errors
    /// If the module lacks it; no route and no listener leads to such a call.
    pub(crate) fn get<C: Call>(&self) -> wasmtime::Result<Export<C>> {
        C::export(self).ok_or_else(|| wasmtime::Error::msg("the module has no such export"))
    }
}

/// A call in the queue of an instance, with the sender of its output.
pub(crate) struct Queued<C: Call> {
    pub(crate) call: C,
    pub(crate) output: oneshot::Sender<C::Output>,
}

pub(crate) enum QueuedCall {
    Request(Queued<Request>),
    Event(Queued<Event>),
}

pub(crate) struct Request {
    pub(crate) handler: u32,
    pub(crate) history: Arc<CallHistory>,
    pub(crate) context: Context,
}

impl Call for Request {
    type Params = (u32, Resource<Context>);
    type Results = (types::Outcome,);
    type Output = Outcome;

    fn export(exports: &Exports) -> Option<Export<Self>> {
        exports.handle
    }

    fn lower(self, guest: &mut Guest) -> wasmtime::Result<Self::Params> {
        Ok((self.handler, guest.table.push(self.context)?))
    }

    fn lift((outcome,): Self::Results) -> Outcome {
        outcome_in(outcome)
    }

    fn crashed(crash: Crash) -> Outcome {
        Outcome::Crashed(Box::new(crash))
    }

    fn history(&self) -> &Arc<CallHistory> {
        &self.history
    }

    fn deadline(&self) -> Option<Instant> {
        self.context.caller().deadline()
    }

    fn queued(queued: Queued<Self>) -> QueuedCall {
        QueuedCall::Request(queued)
    }
}

pub(crate) struct Event {
    pub(crate) listener: u32,
    pub(crate) history: Arc<CallHistory>,
    pub(crate) delivery: Delivery,
    pub(crate) payload: Payload,
}

impl Call for Event {
    type Params = (u32, Resource<Delivery>, types::Payload);
    type Results = (Result<types::Payload, types::Failure>,);
    type Output = Result<Payload, Failure>;

    fn export(exports: &Exports) -> Option<Export<Self>> {
        exports.deliver
    }

    fn lower(self, guest: &mut Guest) -> wasmtime::Result<Self::Params> {
        let delivery = guest.table.push(self.delivery)?;
        Ok((self.listener, delivery, payload_out(self.payload)))
    }

    fn lift((result,): Self::Results) -> Self::Output {
        result.map(payload_in).map_err(|failure| {
            let code = FailureCode::new(failure.code);
            // A status that HTTP does not have becomes 500.
            let status = http::StatusCode::from_u16(failure.status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
            Failure::with_code(code, status, failure.message)
        })
    }

    fn crashed(crash: Crash) -> Self::Output {
        Err(Failure::of_crash(crash))
    }

    fn history(&self) -> &Arc<CallHistory> {
        &self.history
    }

    fn deadline(&self) -> Option<Instant> {
        self.delivery.caller().deadline()
    }

    fn queued(queued: Queued<Self>) -> QueuedCall {
        QueuedCall::Event(queued)
    }
}
