use pointwork_guest::{Context, Deferred, Failure, Guarded, HttpStatus, Outcome, Redirect, Reply, controller, guard};

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

struct Optional;

#[guard]
impl Optional {
    fn check() -> Result<Option<String>, Failure> {
        Ok(None)
    }
}

struct Nested;

#[guard]
impl Nested {
    fn check() -> Result<Result<String, Failure>, Failure> {
        Ok(Err(HttpStatus::FORBIDDEN.into()))
    }
}

struct Failing;

#[guard]
impl Failing {
    fn check() -> Result<Failure, Failure> {
        Ok(HttpStatus::FORBIDDEN.into())
    }
}

struct Status;

#[guard]
impl Status {
    fn check() -> Result<HttpStatus, Failure> {
        Ok(HttpStatus::FORBIDDEN)
    }
}

struct Redirected;

#[guard]
impl Redirected {
    fn check() -> Result<Redirect, Failure> {
        Ok(Redirect::to("/sign-in"))
    }
}

struct Replied;

#[guard]
impl Replied {
    fn check() -> Result<Reply, Failure> {
        Ok(Reply::new(403_u16))
    }
}

struct Ended;

#[guard]
impl Ended {
    fn check() -> Result<Outcome, Failure> {
        Ok(Outcome::Deferred)
    }
}

struct Tuple;

#[guard]
impl Tuple {
    fn check() -> Result<(HttpStatus, &'static str), Failure> {
        Ok((HttpStatus::FORBIDDEN, "no"))
    }
}

struct Sent;

#[guard]
impl Sent {
    fn check() -> Result<Deferred, Failure> {
        Ok(Deferred)
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

#[controller("account", guard = [Allowed, Aliased, Optional, Nested, Failing, Status, Redirected, Replied, Ended, Tuple, Sent])]
impl Account {
    #[get]
    fn show(user: Option<Guarded<User>>) -> String {
        user.map(|user| user.clone()).unwrap_or_default()
    }
}

fn main() {}
