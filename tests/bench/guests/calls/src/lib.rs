//! A synchronous module: a handler that only reads the request, and handlers that call and emit events.

use pointwork_guest::{Context, Failure, Path, controller, events, guard, module};

events! {
    /// Returns its argument.
    pub Echo = "bench:echo": String => String;
    /// Receives an event and does nothing.
    pub Heard = "bench:heard": String;
    /// The same as [`Echo`], in a module.
    pub EchoInModule = "sandboxed:echo": String => String;
    /// The same as [`Heard`], in a module.
    pub HeardInModule = "sandboxed:heard": String;
    /// Returns after 10 ms.
    pub Wait = "bench:wait": () => ();
}

/// The number of events in one request, so that the request itself counts for little.
const TIMES: u32 = 100;

/// A guard that lets every request pass.
struct Everyone;

#[guard]
impl Everyone {
    fn check() -> Result<(), Failure> {
        Ok(())
    }
}

/// The controller.
pub struct Calls;

#[controller("calls")]
impl Calls {
    #[get(":id")]
    fn show(ctx: &Context) -> Option<String> {
        ctx.param("id")
    }

    #[get(":id/guarded")]
    #[guard(Everyone)]
    fn guarded(ctx: &Context) -> Option<String> {
        ctx.param("id")
    }

    #[get(":id/call")]
    fn call(ctx: &Context) -> Result<String, Failure> {
        ctx.call::<Echo>(ctx.param("id").unwrap_or_default())
    }

    #[get("wait")]
    fn wait(ctx: &Context) -> Result<&'static str, Failure> {
        ctx.call::<Wait>(())?;
        Ok("waited")
    }

    #[get(":id/calls")]
    fn calls(ctx: &Context, id: Path<String>) -> Result<String, Failure> {
        (0..TIMES).try_fold(id.0, |text, _| ctx.call::<Echo>(text))
    }

    #[get(":id/calls-module")]
    fn calls_module(ctx: &Context, id: Path<String>) -> Result<String, Failure> {
        (0..TIMES).try_fold(id.0, |text, _| ctx.call::<EchoInModule>(text))
    }

    #[get(":id/emits")]
    fn emits(ctx: &Context, id: Path<String>) -> String {
        for _ in 0..TIMES {
            ctx.emit::<Heard>(id.0.clone());
        }
        id.0
    }

    #[get(":id/emits-module")]
    fn emits_module(ctx: &Context, id: Path<String>) -> String {
        for _ in 0..TIMES {
            ctx.emit::<HeardInModule>(id.0.clone());
        }
        id.0
    }

    #[get(":id/emit")]
    fn emit(ctx: &Context) -> Option<String> {
        ctx.emit::<Heard>(ctx.param("id")?).param("id")
    }
}

module! { Calls }
