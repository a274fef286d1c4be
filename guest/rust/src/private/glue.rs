//! What the dispatch of a module needs on every target.

use crate::{AsyncContext, AsyncDelivery, Context, Delivery, Failure, HttpStatus, Outcome, Throw};

/// The outcome for a number that the module never declared.
pub fn unknown_handler() -> Outcome {
    Outcome::Throw(Throw::new(500_u16, "the module has no such handler"))
}

/// The same for listeners.
pub fn unknown_listener() -> Failure {
    Failure::new(HttpStatus::INTERNAL_SERVER_ERROR, "the module has no such listener")
}

/// The same context for a controller without `async fn` in an asynchronous module.
pub fn into_blocking(context: AsyncContext) -> Context {
    context.into_blocking()
}

/// The same delivery for a channel without `async fn` in an asynchronous module.
pub fn into_blocking_delivery(delivery: AsyncDelivery) -> Delivery {
    delivery.into_blocking()
}
