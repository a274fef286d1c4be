use std::future::{Future, Ready, ready};
use std::pin::Pin;

use pointwork_guest::form::ModuleForm;
use pointwork_guest::{AsyncContext, Context, Failure, controller, guard};

type Checked = Pin<Box<dyn Future<Output = Result<(), Failure>>>>;

async fn check() -> Result<(), Failure> {
    Err(Failure::new(403_u16, "no"))
}

struct Wrapped;

#[guard]
impl Wrapped {
    fn check() -> impl Future<Output = Result<(), Failure>> {
        check()
    }
}

struct Boxed;

#[guard]
impl Boxed {
    fn check(_ctx: &AsyncContext) -> Pin<Box<dyn Future<Output = Result<(), Failure>>>> {
        Box::pin(check())
    }
}

struct Forgotten;

#[guard]
impl Forgotten {
    fn check() -> Result<Checked, Failure> {
        Ok(Box::pin(check()))
    }
}

struct Twice;

#[guard]
impl Twice {
    async fn check<F: ModuleForm>(_ctx: &Context<F>) -> Result<Ready<Result<(), Failure>>, Failure> {
        Ok(ready(Ok(())))
    }
}

struct Unnamed;

#[guard]
impl Unnamed {
    fn check() -> Result<impl Future<Output = Result<(), Failure>>, Failure> {
        Ok(check())
    }
}

struct Orders;

#[controller("orders", guard = [Wrapped, Boxed, Forgotten, Twice, Unnamed])]
impl Orders {
    #[get]
    fn list() -> &'static str {
        ""
    }
}

fn main() {}
