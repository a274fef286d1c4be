//! Modules that learn their declarations and the names of their events at run time.
//!
//! The macros of the SDK need every name as a constant. The behaviour suite has one module that interprets the programs of
//! its cases, so neither the manifest nor the events of that module are constants. Such a module implements
//! `exports::Describe` and [`BlockingModule`](super::BlockingModule) or [`AsyncModule`](super::AsyncModule) itself, exports
//! them with `__export!`, and calls events by the functions of this file. Some cases test that the host refuses a reply which no module
//! can make with the SDK, so that module also replies by [`unchecked_reply`]. Event names are `'static` because a
//! [`Failure`] keeps the name of the event that failed.

use pointwork_events::Payload;

use crate::backend;
use crate::bindings::types;
use crate::context::Context;
use crate::delivery::Delivery;
use crate::failure::Failure;
use crate::form::{Async, Blocking, ModuleForm};
use crate::reply::{Deferred, Outcome, Reply};

/// The calls of events by a name that is known at run time, for code that serves both forms.
pub trait NamedCalls: ModuleForm {
    /// `call` of the context.
    fn call_named(
        context: &Context<Self>,
        event: &'static str,
        payload: Payload,
    ) -> impl Future<Output = Result<Payload, Failure>>;

    /// `call` of the delivery.
    fn call_named_from(
        delivery: &Delivery<Self>,
        event: &'static str,
        payload: Payload,
    ) -> impl Future<Output = Result<Payload, Failure>>;
}

impl NamedCalls for Blocking {
    async fn call_named(context: &Context, event: &'static str, payload: Payload) -> Result<Payload, Failure> {
        result(event, backend::blocking::call(&context.raw, event, &payload.into()))
    }

    async fn call_named_from(delivery: &Delivery, event: &'static str, payload: Payload) -> Result<Payload, Failure> {
        result(
            event,
            backend::blocking::call_from(delivery.raw(), event, &payload.into()),
        )
    }
}

impl NamedCalls for Async {
    async fn call_named(context: &Context<Self>, event: &'static str, payload: Payload) -> Result<Payload, Failure> {
        let called = backend::waiting::call(&context.raw, event.to_owned(), payload.into());
        result(event, called.await)
    }

    async fn call_named_from(
        delivery: &Delivery<Self>,
        event: &'static str,
        payload: Payload,
    ) -> Result<Payload, Failure> {
        let called = backend::waiting::call_from(delivery.raw(), event.to_owned(), payload.into());
        result(event, called.await)
    }
}

fn result(event: &'static str, called: Result<types::Payload, types::Failure>) -> Result<Payload, Failure> {
    called.map(Payload::from).map_err(Failure::from_call(event))
}

/// `emit` of the context.
pub fn emit_named<F>(context: &Context<F>, event: &str, payload: Payload) {
    context.raw.emit(event, &payload.into());
}

/// `emit` of the delivery.
pub fn emit_named_from<F>(delivery: &Delivery<F>, event: &str, payload: Payload) {
    delivery.raw().emit(event, &payload.into());
}

/// `hand_over` of the context.
///
/// # Errors
///
/// As for [`Context::hand_over`].
pub fn hand_over_named<F>(context: Context<F>, event: &'static str, payload: Payload) -> Result<Deferred, Failure> {
    backend::hand_over(event, context.into_raw(), &payload.into())
        .map(|()| Deferred)
        .map_err(Failure::from_call(event))
}

/// A reply that reaches the host without the checks of [`Reply`].
pub fn unchecked_reply(reply: types::Reply) -> Outcome {
    Outcome::Reply(Reply::unchecked(reply))
}
