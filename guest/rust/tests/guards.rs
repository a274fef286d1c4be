//! Guards and after-hooks, without a host.

use std::rc::Rc;

use pointwork_guest::form::{Blocking, Form};
use pointwork_guest::testing::TestRequest;
use pointwork_guest::{
    AsyncContext, Context, Controller, Failure, FromContext, Guarded, HttpStatus, Json, Outcome, Path, Reply, after,
    controller, events, guard,
};

events! {
    pub Verify = "users:verify": String => Option<String>;
    pub Seen = "audit:seen": String;
}

#[derive(Debug, PartialEq)]
struct User(String);

struct SignedIn;

#[guard]
impl SignedIn {
    async fn check<F: Form>(ctx: &Context<F>) -> Result<User, Failure> {
        let token = token(ctx).ok_or(HttpStatus::UNAUTHORIZED)?;
        let user = F::call::<Verify>(ctx, token).await?;
        user.map(User)
            .ok_or_else(|| Failure::new(HttpStatus::FORBIDDEN, "no such user"))
    }
}

fn token<F>(ctx: &Context<F>) -> Option<String> {
    Some(ctx.header("authorization")?.strip_prefix("Bearer ")?.to_owned())
}

struct Admin;

/// Needs another guard, and gives a value of the same type.
#[guard]
impl Admin {
    fn check(user: &Guarded<SignedIn>, ctx: &Context) -> Result<User, Failure> {
        ctx.emit::<Seen>(user.0.clone());
        match user.0.as_str() {
            "ada" => Ok(User("the admin".into())),
            _ => Err(HttpStatus::FORBIDDEN.into()),
        }
    }
}

struct NoStore;

#[after]
impl NoStore {
    fn after(outcome: Outcome) -> Outcome {
        outcome.header("cache-control", "no-store")
    }
}

struct Told;

#[after]
impl Told {
    fn after(ctx: &Context, outcome: &Outcome) {
        ctx.set_extension("told", &format!("{:?}", outcome.status()));
    }
}

struct Renamed;

#[after]
impl Renamed {
    async fn after<F: Form>(_ctx: &Context<F>, user: Guarded<SignedIn>, outcome: Outcome) -> Outcome {
        outcome.header("x-user", user.0.clone())
    }
}

struct Bookings;

#[controller("bookings", guard = SignedIn, after = [NoStore, Told])]
impl Bookings {
    #[get]
    fn list(user: Guarded<SignedIn>) -> String {
        format!("the bookings of {}", user.0)
    }

    #[get("both")]
    fn both(user: Guarded<SignedIn>, again: &Guarded<SignedIn>, admin: Guarded<Admin>) -> String {
        assert!(std::ptr::eq(&raw const **again, &raw const *user));
        format!("{} {}", user.0, admin.0)
    }

    #[post]
    #[guard(Admin)]
    fn create(body: Json<u32>) -> String {
        format!("booked {}", *body)
    }

    #[get("open")]
    #[guard(none)]
    #[after(Renamed)]
    #[after(none)]
    fn open() -> Reply {
        Reply::new(200_u16).text("open")
    }

    #[get("late/:id")]
    fn late(ctx: &Context, id: Path<u32>) -> Result<(), Failure> {
        ctx.send(format!("late {}", *id))
    }
}

fn get(path: &str) -> TestRequest {
    TestRequest::get(path).on::<Verify>(|token| (token != "nobody").then_some(token))
}

fn signed_in(path: &str, name: &str) -> TestRequest {
    get(path).header("authorization", format!("Bearer {name}"))
}

#[test]
fn a_guard_lets_a_request_pass_with_a_value_or_refuses_it() {
    let answer = signed_in("/bookings", "ada").run::<Bookings>();
    assert_eq!((answer.status(), answer.text().as_str()), (200, "the bookings of ada"));
    assert_eq!(answer.called::<Verify>(), ["ada"], "once for a request");
    let answer = get("/bookings").run::<Bookings>();
    assert_eq!((answer.status(), answer.message()), (401, Some("Unauthorized")));
    assert_eq!(answer.called::<Verify>().len(), 0);
    let answer = signed_in("/bookings", "nobody").run::<Bookings>();
    assert_eq!((answer.status(), answer.message()), (403, Some("no such user")));
}
