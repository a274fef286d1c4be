//! The same handler in the asynchronous form.

use pointwork_guest::{AsyncContext, CallError, controller, events, module};

events! {
    /// Returns what it is given.
    pub Echo = "bench:echo": String => String;
}

/// The controller.
pub struct Waits;

#[controller("waits")]
impl Waits {
    #[get(":id")]
    async fn show(ctx: &AsyncContext) -> Option<String> {
        ctx.param("id")
    }

    #[get(":id/call")]
    async fn call(ctx: &AsyncContext) -> Result<String, CallError> {
        ctx.call::<Echo>(ctx.param("id").unwrap_or_default()).await
    }
}

module! { async; Waits }
