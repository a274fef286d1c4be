//! An asynchronous module that uses the standard library, for the behaviour suite.

#[path = "../../rust-std/src/calls.rs"]
mod calls;

use calls::{Settings, Std, Wait};
use pointwork_guest::{AsyncContext, Failure, Path, controller, module};

/// The handler that waits.
pub struct Halves;

#[controller("std")]
impl Halves {
    #[get("halves/:name")]
    async fn halves(ctx: &AsyncContext, name: Path<String>) -> Result<&'static str, Failure> {
        calls::print_half(&name);
        ctx.call::<Wait>(1).await?;
        Ok(calls::print_rest(&name))
    }
}

module! { async; Std, Halves; variables: Settings }
