//! A synchronous module that uses the standard library, for the behaviour suite.

mod calls;

use pointwork_guest::{Context, Failure, Path, controller, events, module};

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
    fn clocks() -> String {
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
    fn prints(name: Path<String>) -> &'static str {
        calls::print(&name)
    }

    #[get("halves/:name")]
    fn halves(ctx: &Context, name: Path<String>) -> Result<&'static str, Failure> {
        calls::print_half(&name);
        ctx.call::<Wait>(1)?;
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
    fn exits() -> &'static str {
        calls::exit()
    }
}

module! { Std }
