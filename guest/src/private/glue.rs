//! What a module's dispatch needs on every target.

use crate::{AsyncContext, Context, Outcome, Throw};

/// The outcome for a number that the module never declared.
pub fn unknown_handler() -> Outcome {
    Outcome::Throw(Throw::new(500_u16, "the module has no such handler"))
}

/// The same context for a controller without `async fn` in an asynchronous module.
pub fn into_blocking(context: AsyncContext) -> Context {
    context.into_blocking()
}
