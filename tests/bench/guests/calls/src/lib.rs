//! The same handler in a module that may also wait for an event: the host runs it on a fiber.

use pointwork_guest::{CallError, Context, controller, events, module};

events! {
    /// Returns what it is given.
    pub Echo = "bench:echo": String => String;
    /// Is heard, and that is all.
    pub Heard = "bench:heard": String;
}

/// The controller.
pub struct Calls;

#[controller("calls")]
impl Calls {
    #[get(":id")]
    fn show(ctx: &Context) -> Option<String> {
        ctx.param("id")
    }

    #[get(":id/call")]
    fn call(ctx: &Context) -> Result<String, CallError> {
        ctx.call::<Echo>(ctx.param("id").unwrap_or_default())
    }

    #[get(":id/emit")]
    fn emit(ctx: &Context) -> Option<String> {
        ctx.emit::<Heard>(ctx.param("id")?).param("id")
    }
}

module! { Calls }
