//! A handler that only reads the request: the host runs it as a plain call.

use pointwork_guest::{Context, controller, module};

/// The controller.
pub struct Plain;

#[controller("plain")]
impl Plain {
    #[get(":id")]
    fn show(ctx: &Context) -> Option<String> {
        ctx.param("id")
    }
}

module! { Plain }
