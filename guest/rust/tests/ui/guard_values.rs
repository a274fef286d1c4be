use pointwork_guest::{Context, Failure, Guarded, controller, guard};

struct Allowed;

#[guard]
impl Allowed {
    fn check(ctx: &Context) -> Result<bool, Failure> {
        Ok(ctx.header("x-token").is_some())
    }
}

type Answer = Result<bool, Failure>;

struct Aliased;

#[guard]
impl Aliased {
    fn check() -> Answer {
        Ok(false)
    }
}

struct User;

#[guard]
impl User {
    fn check() -> Result<String, Failure> {
        Ok(String::new())
    }
}

struct Account;

#[controller("account", guard = [Allowed, Aliased])]
impl Account {
    #[get]
    fn show(user: Option<Guarded<User>>) -> String {
        user.map(|user| user.clone()).unwrap_or_default()
    }
}

fn main() {}
