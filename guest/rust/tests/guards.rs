//! Guards and after-hooks, without a host.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context as Task, Poll, Waker};

use pointwork_guest::__private::shaped;
use pointwork_guest::form::{Async, Blocking, ModuleForm};
use pointwork_guest::testing::TestRequest;
use pointwork_guest::{
    AsyncContext, Context, Controller, Failure, FromContext, Guard, Guarded, HttpStatus, IntoOutcome, Json,
    OptionalFromContext, Outcome, Path, Reply, after, controller, events, guard,
};

events! {
    /// The user of a token.
    pub Verify = "users:verify": String => Option<String>;
    /// A user was seen.
    pub Seen = "audit:seen": String;
}

#[derive(Debug, PartialEq)]
struct User(String);

struct SignedIn;

#[guard]
impl SignedIn {
    async fn check<F: ModuleForm>(ctx: &Context<F>) -> Result<User, Failure> {
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
    async fn after<F: ModuleForm>(_ctx: &Context<F>, user: Guarded<SignedIn>, outcome: Outcome) -> Outcome {
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

#[test]
fn guards_run_once_in_order_and_before_the_body_is_read() {
    let answer = signed_in("/bookings/both", "ada").run::<Bookings>();
    assert_eq!(answer.text(), "ada the admin");
    assert_eq!(answer.called::<Verify>().len(), 1);
    assert_eq!(answer.emitted::<Seen>(), ["ada"]);
    let post = |token: &str| {
        let request = TestRequest::post("/bookings").on::<Verify>(Some).body("no JSON");
        request
            .header("authorization", format!("Bearer {token}"))
            .run::<Bookings>()
    };
    assert_eq!(
        post("bob").status(),
        403,
        "the guard of the function is behind that of the block"
    );
    assert_eq!(post("ada").status(), 400);
}

#[test]
fn none_leaves_out_what_the_block_has() {
    let answer = get("/bookings/open").run::<Bookings>();
    assert_eq!(
        (answer.status(), answer.called::<Verify>().len()),
        (401, 0),
        "its own hook needs the user"
    );
    let answer = signed_in("/bookings/open", "ada").run::<Bookings>();
    assert_eq!(answer.text(), "open");
    assert_eq!(
        (answer.header("x-user").as_deref(), answer.header("cache-control")),
        (Some("ada"), None)
    );
}

#[test]
fn after_hooks_see_replies_errors_and_what_was_sent() {
    let told = |request: TestRequest| {
        let answer = request.run::<Bookings>();
        (answer.header("cache-control"), answer.extension("told"))
    };
    let no_store = Some("no-store".to_owned());
    let ok = told(signed_in("/bookings", "ada"));
    assert_eq!(ok, (no_store.clone(), Some("Some(200)".into())));
    assert_eq!(told(get("/bookings")), (no_store, Some("Some(401)".into())));
    let sent = told(signed_in("/bookings/late/7", "ada"));
    assert_eq!(sent, (None, Some("None".into())), "sent before");
}

#[test]
fn guards_and_their_events_are_declared() {
    let of = |name: &str| {
        let route = Bookings::ROUTES
            .iter()
            .find(|route| route.name == name)
            .expect("the route");
        route.metadata
    };
    let (block, hooks) = (("guard", "SignedIn"), [("after", "NoStore"), ("after", "Told")]);
    assert_eq!(of("list"), [block, hooks[0], hooks[1]]);
    assert_eq!(
        of("both"),
        [block, ("guard", "Admin"), hooks[0], hooks[1]],
        "an argument guards too"
    );
    assert_eq!(of("open"), [("after", "Renamed")]);
    for event in ["users:verify", "audit:seen"] {
        assert!(Bookings::EVENTS_USED.contains(&Some(event)), "{event}");
    }
}

/// A return type that makes its outcome itself.
struct Own(Reply);

impl IntoOutcome for Own {
    fn into_outcome(self) -> Outcome {
        Outcome::Reply(self.0)
    }
}

struct Forges;

#[after]
impl Forges {
    fn after(outcome: Outcome) -> Outcome {
        outcome.header("x-forged", "a\nb")
    }
}

struct Coded;

#[after]
impl Coded {
    fn after(ctx: &Context, outcome: Outcome) -> Outcome {
        if let Outcome::Thrown(failure) = &outcome {
            ctx.set_extension("code", failure.code());
        }
        outcome.header("x-coded", "yes")
    }
}

struct Headers;

#[controller("headers", after = Coded)]
impl Headers {
    #[get("wrong")]
    fn wrong() -> (HttpStatus, [(&'static str, &'static str); 1], &'static str) {
        (HttpStatus::ACCEPTED, [("x-to", "a\nb")], "body")
    }

    #[get("hook")]
    #[after(Forges)]
    fn hook() -> &'static str {
        "body"
    }

    #[get("refused")]
    #[after(Forges)]
    fn refused() -> Failure {
        HttpStatus::NOT_FOUND.into()
    }
}

#[test]
fn a_wrong_header_is_an_error_for_the_hooks_behind_it() {
    for path in ["wrong", "hook", "refused"] {
        let answer = TestRequest::get(&format!("/headers/{path}")).run::<Headers>();
        assert_eq!(answer.failure().map(Failure::code), Some("invalid-reply"), "{path}");
        assert_eq!(answer.extension("code").as_deref(), Some("invalid-reply"), "{path}");
        let told = (answer.status(), answer.header("x-coded"), answer.header("x-forged"));
        assert_eq!(told, (500, Some("yes".to_owned()), None), "{path}");
    }
}

#[test]
fn errors_keep_their_status_if_their_shape_has_a_wrong_header() {
    let shape = |failure: &Failure| {
        Reply::new(200_u16)
            .header("x-message", failure.message())
            .text("shaped")
    };
    let told = |outcome: Outcome| {
        let answer = TestRequest::get("/").run_with(move |_| shaped(outcome, shape));
        let code = answer.failure().map(|failure| failure.code().to_owned());
        (answer.status(), answer.header("x-room").is_some(), code)
    };
    let failure = |message: &str| Outcome::Thrown(Failure::new(404_u16, message).header("x-room", "7"));
    assert_eq!(told(failure("no room")), (404, true, None), "the shape is the reply");
    assert_eq!(told(failure("no\nroom")), (404, true, Some("failed".to_owned())));
    // The message of an invalid reply is in the log only.
    assert_eq!(
        told(Reply::new(200_u16).header("x", "\n").into_outcome()),
        (500, false, None)
    );
    assert_eq!(
        told(Own(Reply::new(200_u16).header("x", "\n")).into_outcome()),
        (500, false, None)
    );
}

mod staff {
    use pointwork_guest::{Failure, guard};

    pub(crate) struct SignedIn;

    #[guard]
    impl SignedIn {
        fn check() -> Result<(), Failure> {
            Ok(())
        }
    }

    pub(crate) struct Role<T>(std::marker::PhantomData<T>);
    pub(crate) struct Reads;
    pub(crate) struct Writes;

    #[guard]
    impl Role<Reads> {
        fn check() -> Result<(), Failure> {
            Ok(())
        }
    }

    #[guard]
    impl Role<Writes> {
        fn check() -> Result<(), Failure> {
            Ok(())
        }
    }
}

struct Staff;

#[controller("staff", guard = [SignedIn, staff::SignedIn])]
impl Staff {
    #[get]
    #[guard(staff::Role<staff::Reads>, staff::Role<staff::Writes>)]
    fn list(_again: Guarded<staff::Role<staff::Reads>>) -> &'static str {
        "staff"
    }
}

#[test]
fn guards_of_one_name_are_told_apart() {
    let guards = [
        "SignedIn",
        "staff::SignedIn",
        "staff::Role<Reads>",
        "staff::Role<Writes>",
    ];
    assert_eq!(Staff::ROUTES[0].metadata, guards.map(|name| ("guard", name)));
    let declared = <staff::SignedIn as Guard>::DECLARED;
    for (module, shown) in [
        ("guards", "staff::SignedIn"),
        ("guards::staff", "staff::SignedIn"),
        ("guard", "guards::staff::SignedIn"),
        ("guards_too", "guards::staff::SignedIn"),
    ] {
        assert_eq!(declared.shown_in(module), shown, "{module}");
    }
    assert_eq!(signed_in("/staff", "ada").run::<Staff>().text(), "staff");
}

struct Tenant(u32);

impl<F: ModuleForm> OptionalFromContext<F> for Tenant {
    async fn optional_from_context(ctx: &Context<F>, argument: &'static str) -> Result<Option<Self>, Failure> {
        let Some(name) = ctx.header(argument) else {
            return Ok(None);
        };
        F::call::<Verify>(ctx, name.clone()).await?;
        let number = name.parse().map_err(|_| Failure::new(400_u16, "expected a number"))?;
        Ok(Some(Self(number)))
    }
}

impl<F: ModuleForm> FromContext<F> for Tenant {
    async fn from_context(ctx: &Context<F>, argument: &'static str) -> Result<Self, Failure> {
        let found = Self::optional_from_context(ctx, argument).await?;
        found.ok_or_else(|| Failure::new(400_u16, "no tenant"))
    }
}

struct Tenants;

#[controller("tenants")]
impl Tenants {
    #[get("option")]
    fn option(tenant: Option<Tenant>) -> String {
        format!("{:?}", tenant.map(|tenant| tenant.0))
    }

    #[get("result")]
    fn result(tenant: Result<Tenant, Failure>) -> String {
        format!(
            "{:?}",
            tenant.map(|tenant| tenant.0).map_err(|failure| failure.status())
        )
    }

    #[get("guarded")]
    fn guarded(user: &Result<Guarded<SignedIn>, Failure>) -> String {
        match user {
            Ok(user) => user.0.clone(),
            Err(failure) => format!("a guest: {}", failure.status()),
        }
    }
}

struct TenantsToo;

#[controller("tenants")]
impl TenantsToo {
    #[get("option")]
    async fn option(tenant: Option<Tenant>, user: Result<Guarded<SignedIn>, Failure>) -> String {
        format!("{:?} {}", tenant.map(|tenant| tenant.0), user.is_ok())
    }
}

#[test]
fn what_calls_is_an_option_or_a_result_too() {
    let with = |path: &str, tenant: &str| get(path).header("tenant", tenant).run::<Tenants>();
    assert_eq!(get("/tenants/option").run::<Tenants>().text(), "None");
    assert_eq!(with("/tenants/option", "7").text(), "Some(7)");
    assert_eq!(with("/tenants/option", "x").status(), 400);
    assert_eq!(get("/tenants/result").run::<Tenants>().text(), "Err(400)");
    assert_eq!(with("/tenants/result", "7").text(), "Ok(7)");
    assert_eq!(with("/tenants/option", "7").called::<Verify>(), ["7"]);
    assert_eq!(get("/tenants/guarded").run::<Tenants>().text(), "a guest: 401");
    assert_eq!(signed_in("/tenants/guarded", "ada").run::<Tenants>().text(), "ada");
    let awaited = signed_in("/tenants/option", "ada").header("tenant", "7");
    assert_eq!(awaited.run::<TenantsToo>().text(), "Some(7) true");
    // It refuses nobody, so that the route does not list it. Its events are those of the controller.
    let of = |name: &str| {
        Tenants::ROUTES
            .iter()
            .find(|route| route.name == name)
            .map(|route| route.metadata)
    };
    assert_eq!(of("guarded"), Some(&[][..]));
    assert!(Tenants::EVENTS_USED.contains(&Some("users:verify")));
    assert_eq!(Tenants::BLOCKING, None);
}

/// Waits once.
struct Slow;

#[guard]
impl Slow {
    async fn check(ctx: &AsyncContext) -> Result<String, Failure> {
        ctx.emit::<Seen>("slow".into());
        let mut has_waited = false;
        poll_fn(|_| match std::mem::replace(&mut has_waited, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
        ctx.header("x-token").ok_or_else(|| HttpStatus::UNAUTHORIZED.into())
    }
}

#[test]
fn a_guard_runs_once_for_arguments_that_are_made_together() {
    let polled = |future: Pin<&mut dyn Future<Output = Result<Guarded<Slow>, Failure>>>| {
        let mut task = Task::from_waker(Waker::noop());
        future
            .poll(&mut task)
            .map_ok(|user| user.clone())
            .map_err(|failure| failure.status())
    };
    let run = |request: TestRequest, is_dropped: bool| {
        request.run_with_async(async move |ctx| {
            let mut first = Box::pin(Guarded::<Slow>::from_context(&ctx, ""));
            let mut second = pin!(Guarded::<Slow>::from_context(&ctx, ""));
            assert_eq!(polled(first.as_mut()), Poll::Pending);
            assert_eq!(polled(second.as_mut()), Poll::Pending, "it waits for the first");
            let made = if is_dropped {
                // Then the second runs the guard.
                drop(first);
                assert_eq!(polled(second.as_mut()), Poll::Pending);
                polled(second.as_mut())
            } else {
                let made = polled(first.as_mut());
                assert_eq!(polled(second.as_mut()), made);
                made
            };
            assert_eq!(polled(pin!(Guarded::<Slow>::from_context(&ctx, ""))), made);
            format!("{made:?}")
        })
    };
    let request = || TestRequest::get("/").header("x-token", "ada");
    let answer = run(request(), false);
    assert_eq!(
        (answer.text().as_str(), answer.emitted::<Seen>().len()),
        ("Ready(Ok(\"ada\"))", 1)
    );
    let answer = run(TestRequest::get("/"), false);
    assert_eq!(
        (answer.text().as_str(), answer.emitted::<Seen>().len()),
        ("Ready(Err(401))", 1)
    );
    let answer = run(request(), true);
    assert_eq!(
        (answer.text().as_str(), answer.emitted::<Seen>().len()),
        ("Ready(Ok(\"ada\"))", 2)
    );
}

/// Has both forms, and tells which one made it.
struct Either(&'static str);

impl<F: ModuleForm> FromContext<F> for Either {
    async fn from_context(ctx: &Context<F>, argument: &'static str) -> Result<Self, Failure> {
        F::call::<Verify>(ctx, argument.to_owned()).await?;
        Ok(Self(argument))
    }
}

struct OnlyBlocking(bool);

impl FromContext<Blocking> for OnlyBlocking {
    async fn from_context(ctx: &Context, _argument: &'static str) -> Result<Self, Failure> {
        Ok(Self(ctx.call::<Verify>("blocking".into())?.is_some()))
    }
}

struct OnlyAsync(bool);

impl FromContext<Async> for OnlyAsync {
    async fn from_context(ctx: &AsyncContext, _argument: &'static str) -> Result<Self, Failure> {
        Ok(Self(ctx.call::<Verify>("async".into()).await?.is_some()))
    }
}

struct Plain;

#[controller("plain")]
impl Plain {
    #[get]
    fn show(either: Either, blocking: &OnlyBlocking) -> String {
        format!("{} {}", either.0, blocking.0)
    }
}

struct Awaited;

#[controller("awaited")]
impl Awaited {
    #[get]
    async fn show(either: Either, waits: OnlyAsync) -> String {
        format!("{} {}", either.0, waits.0)
    }
}

#[test]
fn extractors_that_call_are_arguments_of_the_form_that_they_have() {
    assert_eq!(get("/plain").run::<Plain>().text(), "either true");
    assert_eq!(get("/awaited").run::<Awaited>().text(), "either true");
    assert_eq!(Plain::BLOCKING, Some(("show", "OnlyBlocking")));
    assert_eq!(Awaited::BLOCKING, None);
}
