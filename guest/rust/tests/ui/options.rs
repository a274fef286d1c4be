use pointwork_guest::{Failure, Outcome, after, channel, controller, guard};

struct SignedIn;

#[guard]
impl SignedIn {
    fn check() -> Result<(), Failure> {
        Ok(())
    }
}

struct NoStore;

#[after]
impl NoStore {
    fn after(outcome: Outcome) -> Outcome {
        outcome
    }
}

struct Orders;

#[controller("orders", guards = SignedIn)]
impl Orders {
    #[get("one", status = 201)]
    fn one() -> &'static str {
        ""
    }

    #[post("two", body = "none", body = "whole")]
    fn two() -> &'static str {
        ""
    }

    #[get("three")]
    #[guard(SignedIn, optional = true)]
    fn three() -> &'static str {
        ""
    }

    #[get("four", guard = SignedIn)]
    fn four() -> &'static str {
        ""
    }
}

struct Log;

#[channel("log", durable = true)]
impl Log {
    #[on("kept", durable)]
    fn kept() {}
}

struct Health;

#[controller("health")]
#[guard(SignedIn)]
impl Health {
    #[get]
    fn show() -> &'static str {
        ""
    }
}

mod unknown {
    pointwork_guest::module! { super::Health; guards: super::SignedIn }
}

mod twice {
    pointwork_guest::module! { super::Health; guard: super::SignedIn; guard: super::SignedIn }
}

fn main() {}
