//! An asynchronous module that uses the standard library, for the behaviour suite.

#[path = "../../rust-std/src/calls.rs"]
mod calls;

use pointwork_guest::{AsyncContext, Failure, Path, controller, events, module};

events! {
    /// Returns after that number of milliseconds.
    pub Wait = "clock:wait": u64 => ();
}

/// A handler for each group of calls.
pub struct Std;

#[controller("std")]
impl Std {
    #[get("constructed")]
    fn constructed() -> String {
        calls::constructed()
    }

    #[get("clocks")]
    async fn clocks() -> String {
        calls::clocks()
    }

    #[get("random")]
    fn random() -> String {
        calls::random()
    }

    #[get("variables")]
    fn variables() -> String {
        calls::variables()
    }

    #[get("outside")]
    fn outside() -> String {
        calls::outside()
    }

    #[get("prints/:name")]
    async fn prints(name: Path<String>) -> &'static str {
        calls::print(&name)
    }

    #[get("halves/:name")]
    async fn halves(ctx: &AsyncContext, name: Path<String>) -> Result<&'static str, Failure> {
        calls::print_half(&name);
        ctx.call::<Wait>(1).await?;
        Ok(calls::print_rest(&name))
    }

    #[get("panics")]
    fn panics() -> &'static str {
        calls::panic()
    }

    #[get("panics-in-print")]
    fn panics_in_print() -> &'static str {
        calls::panic_in_print()
    }

    #[get("sleeps")]
    fn sleeps() -> &'static str {
        calls::sleep()
    }

    #[get("exits")]
    async fn exits() -> &'static str {
        calls::exit()
    }
}

module! { async; Std }
