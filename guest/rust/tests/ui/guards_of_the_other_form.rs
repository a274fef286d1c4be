use pointwork_guest::{AsyncContext, Context, Failure, Guarded, controller, guard};

struct Waits;

#[guard]
impl Waits {
    async fn check(_ctx: &AsyncContext) -> Result<(), Failure> {
        Ok(())
    }
}

struct Blocks;

#[guard]
impl Blocks {
    fn check(_ctx: &Context) -> Result<(), Failure> {
        Ok(())
    }
}

struct One;

#[controller("one")]
impl One {
    #[get]
    fn show(_guard: Guarded<Waits>) -> &'static str {
        ""
    }
}

struct Other;

#[controller("other", guard = Blocks)]
impl Other {
    #[get]
    fn show() -> &'static str {
        ""
    }
}

mod synchronous {
    pointwork_guest::module! { super::One }
}

mod asynchronous {
    pointwork_guest::module! { async; super::Other }
}

fn main() {}
