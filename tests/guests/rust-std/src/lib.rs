//! A synchronous module that uses the standard library, for the behaviour suite.

mod calls;

use calls::{Settings, Std, Wait};
use pointwork_guest::{Context, Failure, Path, controller, module};

/// The handler that waits.
pub struct Halves;

#[controller("std")]
impl Halves {
    #[get("halves/:name")]
    fn halves(ctx: &Context, name: Path<String>) -> Result<&'static str, Failure> {
        calls::print_half(&name);
        ctx.call::<Wait>(1)?;
        Ok(calls::print_rest(&name))
    }
}

module! { Std, Halves; variables: Settings }
