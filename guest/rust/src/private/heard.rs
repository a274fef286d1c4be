//! How a listener's arguments come about.
//!
//! As with the arguments of handlers, each kind is an impl with a marker type, and the compiler finds the only one that
//! fits. Arguments are made in two steps, since the delivery may move into the listener and the others are read from it
//! before.

use pointwork_events::Event;
use serde::de::DeserializeOwned;

use crate::{Context, Delivery, Failure, HttpStatus, Payload};

/// What a listener's argument is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeardKind {
    /// The delivery itself.
    Delivery,
    /// The context that was handed over with the event.
    Context,
    /// What the event carries.
    Payload,
}

#[derive(Debug)]
pub enum ByDelivery {}
#[derive(Debug)]
pub enum ByContext {}
#[derive(Debug)]
pub enum ByContextIfAny {}
#[derive(Debug)]
pub enum ByPayload {}
#[derive(Debug)]
pub enum ByValue {}

/// An argument of a listener of form `F`.
#[diagnostic::on_unimplemented(
    message = "a listener cannot take `{Self}`",
    label = "expected the event's payload, its context or its delivery",
    note = "a listener takes the payload by a type that serde can read (`serde::Deserialize`) or as `Payload`, the context \
            that was handed over as `Context` or `Option<Context>`, and `Delivery` (in a channel with `async fn` \
            listeners: `AsyncContext`, `AsyncDelivery`), each by value or reference"
)]
pub trait Heard<F, Marker>: Sized {
    const KIND: HeardKind;
    type Ready;

    /// First step. `payload` is there for the first that takes it.
    fn read(
        delivery: &Delivery<F>,
        payload: &mut Option<Payload>,
        channel: &'static str,
    ) -> Result<Self::Ready, Failure>;

    /// Second step. `delivery` is there for the first that takes it.
    fn finish(ready: Self::Ready, delivery: &mut Option<Delivery<F>>) -> Self;
}

impl<F> Heard<F, ByDelivery> for Delivery<F> {
    const KIND: HeardKind = HeardKind::Delivery;
    type Ready = ();

    fn read(_delivery: &Delivery<F>, _payload: &mut Option<Payload>, _channel: &'static str) -> Result<(), Failure> {
        Ok(())
    }

    fn finish((): (), delivery: &mut Option<Self>) -> Self {
        match delivery.take() {
            Some(delivery) => delivery,
            None => unreachable!("the macro checks that a listener takes the delivery once"),
        }
    }
}

impl<F> Heard<F, ByContext> for Context<F> {
    const KIND: HeardKind = HeardKind::Context;
    type Ready = Self;

    fn read(delivery: &Delivery<F>, _payload: &mut Option<Payload>, channel: &'static str) -> Result<Self, Failure> {
        delivery
            .take_context()
            .ok_or_else(|| no_context(channel, &delivery.event()))
    }

    fn finish(ready: Self, _delivery: &mut Option<Delivery<F>>) -> Self {
        ready
    }
}

impl<F> Heard<F, ByContextIfAny> for Option<Context<F>> {
    const KIND: HeardKind = HeardKind::Context;
    type Ready = Self;

    fn read(delivery: &Delivery<F>, _payload: &mut Option<Payload>, _channel: &'static str) -> Result<Self, Failure> {
        Ok(delivery.take_context())
    }

    fn finish(ready: Self, _delivery: &mut Option<Delivery<F>>) -> Self {
        ready
    }
}

impl<F> Heard<F, ByPayload> for Payload {
    const KIND: HeardKind = HeardKind::Payload;
    type Ready = Self;

    fn read(_delivery: &Delivery<F>, payload: &mut Option<Payload>, _channel: &'static str) -> Result<Self, Failure> {
        Ok(take(payload))
    }

    fn finish(ready: Self, _delivery: &mut Option<Delivery<F>>) -> Self {
        ready
    }
}

impl<F, T: DeserializeOwned> Heard<F, ByValue> for T {
    const KIND: HeardKind = HeardKind::Payload;
    type Ready = T;

    fn read(_delivery: &Delivery<F>, payload: &mut Option<Payload>, _channel: &'static str) -> Result<T, Failure> {
        take(payload).to()
    }

    fn finish(ready: T, _delivery: &mut Option<Delivery<F>>) -> T {
        ready
    }
}

fn take(payload: &mut Option<Payload>) -> Payload {
    match payload.take() {
        Some(payload) => payload,
        None => unreachable!("the macro checks that a listener takes the payload once"),
    }
}

fn no_context(channel: &str, event: &str) -> Failure {
    Failure::new(
        HttpStatus::INTERNAL_SERVER_ERROR,
        format!("event `{channel}:{event}` came without a context, expected one to be handed over with it"),
    )
}

/// An argument of a listener of event `E`: if it is the payload, it is the payload of that event.
///
/// No label of its own: the compiler's names the type that the event map gives the payload.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the payload of event `{E}`",
    note = "a listener that is bound by event type takes the payload by the type that `events!` gives it, or as `Payload`"
)]
pub trait PayloadOf<E, Marker> {}

#[diagnostic::do_not_recommend]
impl<E: Event, F> PayloadOf<E, ByDelivery> for Delivery<F> {}
#[diagnostic::do_not_recommend]
impl<E: Event, F> PayloadOf<E, ByContext> for Context<F> {}
#[diagnostic::do_not_recommend]
impl<E: Event, F> PayloadOf<E, ByContextIfAny> for Option<Context<F>> {}
#[diagnostic::do_not_recommend]
impl<E: Event> PayloadOf<E, ByPayload> for Payload {}
impl<E: Event, T: PayloadIs<E::Payload>> PayloadOf<E, ByValue> for T {}

/// The same type.
pub trait PayloadIs<T> {}

impl<T> PayloadIs<T> for T {}

/// Compiles only if an argument of type `T` fits the event.
pub const fn check_payload<E, T: PayloadOf<E, M>, M>() {}
