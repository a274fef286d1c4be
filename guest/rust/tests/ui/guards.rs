use pointwork_guest::{Context, Json, Outcome, after, controller, guard};

struct Unnamed;

#[guard]
impl Unnamed {
    fn allow() {}
}

struct NoResult;

#[guard]
impl NoResult {
    fn check() -> bool {
        true
    }
}

struct NoValue;

#[guard]
impl NoValue {
    fn check(_ctx: &Context) {}
}

struct TakesBody;

#[guard]
impl TakesBody {
    fn check(body: Json<u32>, ctx: Context) -> Result<(), pointwork_guest::Failure> {
        let _ = (body, ctx);
        Ok(())
    }
}

struct NoOutcome;

#[after]
impl NoOutcome {
    fn after() {}
}

#[guard]
fn free() {}

struct Mapped;

#[controller("mapped")]
impl Mapped {
    #[get(":id", guard = TakesBody)]
    fn show() -> &'static str {
        ""
    }

    #[request_mapping(method = "BREW", guard = TakesBody)]
    fn brew() -> &'static str {
        ""
    }

    #[guard(TakesBody)]
    fn helper() {}

    #[get("none")]
    #[guard(none)]
    fn none() -> &'static str {
        ""
    }

    #[get("empty")]
    #[guard]
    fn empty() -> &'static str {
        ""
    }
}

struct Seen;

#[after]
impl Seen {
    fn after(_ctx: &Context, _outcome: &Outcome) {}
}

struct Owns;

#[controller("owns", after = Seen)]
impl Owns {
    #[get]
    fn show(ctx: Context) -> Context {
        ctx
    }
}

fn main() {}
