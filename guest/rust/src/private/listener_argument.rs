//! The arguments of listeners.
//!
//! As with the arguments of handlers, each kind is an impl with a marker type, and the compiler selects the one that
//! fits. An argument is made in two steps: `read` borrows the delivery, then `finish` may move it into the listener.

use pointwork_events::{Event, Payload};
use serde::de::DeserializeOwned;

use super::ArgumentKind;
use crate::context::Context;
use crate::delivery::Delivery;
use crate::failure::Failure;
#[cfg(feature = "garde")]
use crate::valid::Valid;

#[derive(Debug)]
pub enum ByDelivery {}
#[derive(Debug)]
pub enum ByHandedOverContext {}
#[derive(Debug)]
pub enum ByOptionalContext {}
#[derive(Debug)]
pub enum ByPayload {}
#[derive(Debug)]
pub enum ByValue {}
#[cfg(feature = "garde")]
#[derive(Debug)]
pub enum ByValid {}

/// An argument of a listener of form `F`.
#[diagnostic::on_unimplemented(
    message = "a listener cannot take `{Self}`",
    label = "expected the event's payload, its context or its delivery",
    note = "a listener takes the payload as a type that implements `serde::Deserialize` or as `Payload`, the context \
            that was handed over as `Context` or `Option<Context>`, and `Delivery` (`AsyncContext` and `AsyncDelivery` \
            in an asynchronous module), each by value or reference"
)]
pub trait ListenerArgument<F, Marker>: Sized {
    const KIND: ArgumentKind;
    type Ready;

    /// The first step. `payload` is `Some` until an argument takes it.
    fn read(
        delivery: &Delivery<F>,
        payload: &mut Option<Payload>,
        channel: &'static str,
    ) -> Result<Self::Ready, Failure>;

    /// The second step. `delivery` is `Some` until an argument takes it.
    fn finish(ready: Self::Ready, delivery: &mut Option<Delivery<F>>) -> Self;
}

impl<F> ListenerArgument<F, ByDelivery> for Delivery<F> {
    const KIND: ArgumentKind = ArgumentKind::Delivery;
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

impl<F> ListenerArgument<F, ByHandedOverContext> for Context<F> {
    const KIND: ArgumentKind = ArgumentKind::Context;
    is_ready!(Delivery<F>);

    fn read(delivery: &Delivery<F>, _payload: &mut Option<Payload>, channel: &'static str) -> Result<Self, Failure> {
        delivery
            .take_context()
            .ok_or_else(|| no_context(channel, &delivery.event()))
    }
}

impl<F> ListenerArgument<F, ByOptionalContext> for Option<Context<F>> {
    const KIND: ArgumentKind = ArgumentKind::Context;
    is_ready!(Delivery<F>);

    fn read(delivery: &Delivery<F>, _payload: &mut Option<Payload>, _channel: &'static str) -> Result<Self, Failure> {
        Ok(delivery.take_context())
    }
}

impl<F> ListenerArgument<F, ByPayload> for Payload {
    const KIND: ArgumentKind = ArgumentKind::Payload;
    is_ready!(Delivery<F>);

    fn read(_delivery: &Delivery<F>, payload: &mut Option<Payload>, _channel: &'static str) -> Result<Self, Failure> {
        Ok(take(payload))
    }
}

impl<F, T: DeserializeOwned> ListenerArgument<F, ByValue> for T {
    const KIND: ArgumentKind = ArgumentKind::Payload;
    is_ready!(Delivery<F>);

    fn read(_delivery: &Delivery<F>, payload: &mut Option<Payload>, _channel: &'static str) -> Result<T, Failure> {
        Ok(take(payload).to()?)
    }
}

#[cfg(feature = "garde")]
impl<F, T> ListenerArgument<F, ByValid> for Valid<T>
where
    T: DeserializeOwned + garde::Validate<Context: Default>,
{
    const KIND: ArgumentKind = ArgumentKind::Payload;
    is_ready!(Delivery<F>);

    fn read(_delivery: &Delivery<F>, payload: &mut Option<Payload>, _channel: &'static str) -> Result<Self, Failure> {
        Self::of_payload(take(payload).to()?)
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
        500_u16,
        format!("event `{channel}:{event}` came without a context, expected a context to be handed over with it"),
    )
}

/// An argument of a listener of event `E`. If it is the payload, it has the type that the event map gives the payload.
///
/// There is no custom label, since the compiler's own label names that type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the payload of event `{E}`",
    note = "with an event type in `#[on(…)]`, a listener takes the payload as the type that `events!` declares, or as \
            `Payload`"
)]
pub trait PayloadOf<E, Marker> {}

#[diagnostic::do_not_recommend]
impl<E: Event, F> PayloadOf<E, ByDelivery> for Delivery<F> {}
#[diagnostic::do_not_recommend]
impl<E: Event, F> PayloadOf<E, ByHandedOverContext> for Context<F> {}
#[diagnostic::do_not_recommend]
impl<E: Event, F> PayloadOf<E, ByOptionalContext> for Option<Context<F>> {}
#[diagnostic::do_not_recommend]
impl<E: Event> PayloadOf<E, ByPayload> for Payload {}
impl<E: Event, T: DeserializeOwned + PayloadIs<E::Payload>> PayloadOf<E, ByValue> for T {}

#[cfg(feature = "garde")]
#[diagnostic::do_not_recommend]
impl<E: Event, T: PayloadIs<E::Payload>> PayloadOf<E, ByValid> for Valid<T> {}

/// Implemented by `T` itself only.
pub trait PayloadIs<T> {}

impl<T> PayloadIs<T> for T {}

/// Compiles only if an argument of type `T` fits the event.
pub const fn check_payload<E, T: PayloadOf<E, M>, M>() {}
