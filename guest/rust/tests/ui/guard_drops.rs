use pointwork_guest::form::ModuleForm;
use pointwork_guest::{AsyncContext, Context, Failure, HttpStatus, controller, guard};

fn known(_ctx: &Context) -> Result<(), Failure> {
    Err(HttpStatus::FORBIDDEN.into())
}

async fn known_async<F: ModuleForm>(_ctx: &Context<F>) -> Result<(), Failure> {
    Err(HttpStatus::FORBIDDEN.into())
}

struct Forgets;

#[guard]
impl Forgets {
    fn check(ctx: &Context) -> Result<(), Failure> {
        known(ctx);
        Ok(())
    }
}

struct Drops;

#[guard]
impl Drops {
    async fn check(ctx: &AsyncContext) -> Result<(), Failure> {
        known_async(ctx);
        Ok(())
    }
}

struct Both;

#[guard]
impl Both {
    async fn check<F: ModuleForm>(ctx: &Context<F>) -> Result<(), Failure> {
        known_async(ctx).await;
        Ok(())
    }
}

struct Allowed;

#[guard]
impl Allowed {
    #[allow(unused_must_use, reason = "the author allows what a guard must not do by mistake")]
    fn check(ctx: &Context) -> Result<(), Failure> {
        known(ctx);
        Ok(())
    }
}

struct Orders;

#[controller("orders", guard = [Forgets, Both, Allowed])]
impl Orders {
    #[get]
    fn list() -> &'static str {
        ""
    }
}

struct Bills;

#[controller("bills", guard = Drops)]
impl Bills {
    #[get]
    async fn list() -> &'static str {
        ""
    }
}

fn main() {}
