//! Guards, after-hooks and a shape of errors that serve both forms.

use futures_util::future::join;
use pointwork_guest::form::ModuleForm;
use pointwork_guest::{
    Conditions, Context, ETag, Failure, FromContext, Guarded, HttpStatus, Json, OptionalFromContext, Outcome, Reply,
    Unmodified, after, controller, events, guard,
};
use serde_json::json;

events! {
    /// The user of a token, if there is one.
    pub Verify = "users:verify": String => Option<String>;
    /// The number of bookings of a user.
    pub CountOf = "bookings:count": String => u32;
    /// A guard let a user pass.
    pub Passed = "noted:passed": String;
}

/// The user who is signed in.
#[derive(Debug)]
pub struct User(pub String);

/// Lets pass who has a token.
pub struct SignedIn;

#[guard]
impl SignedIn {
    async fn check<F: ModuleForm>(ctx: &Context<F>) -> Result<User, Failure> {
        let token = ctx.header("x-token").ok_or(HttpStatus::UNAUTHORIZED)?;
        let user = F::call::<Verify>(ctx, token).await?.ok_or(HttpStatus::FORBIDDEN)?;
        ctx.emit::<Passed>(user.clone());
        Ok(User(user))
    }
}

/// Has a value of the same type as [`SignedIn`], of which it needs the value.
pub struct Admin;

#[guard]
impl Admin {
    fn check(user: Guarded<SignedIn>) -> Result<User, Failure> {
        match user.0.as_str() {
            "ada" => Ok(User("the admin".to_owned())),
            _ => Err(Failure::new(HttpStatus::FORBIDDEN, "ask ada").detail("user", &user.0)),
        }
    }
}

/// Panics.
pub struct Traps;

#[guard]
impl Traps {
    fn check() -> Result<(), Failure> {
        panic!("this guard panics on purpose")
    }
}

/// Never ends.
pub struct Loops;

#[guard]
impl Loops {
    fn check() -> Result<(), Failure> {
        loop {
            std::hint::spin_loop();
        }
    }
}

/// Replies by itself, and lets the request pass.
pub struct Replies;

#[guard]
impl Replies {
    fn check<F: ModuleForm>(ctx: &Context<F>) -> Result<(), Failure> {
        ctx.send("by the guard")
    }
}

/// Replies by itself, and refuses the request.
pub struct RepliesAndRefuses;

#[guard]
impl RepliesAndRefuses {
    fn check<F: ModuleForm>(ctx: &Context<F>) -> Result<(), Failure> {
        ctx.send("by the guard")?;
        Err(HttpStatus::FORBIDDEN.into())
    }
}

/// Reads the body, which its value is.
pub struct ReadsBody;

#[guard]
impl ReadsBody {
    async fn check<F: ModuleForm>(ctx: &Context<F>) -> Result<String, Failure> {
        F::text(ctx).await
    }
}

/// Is behind `guard:` of the module.
pub struct NotBlocked;

#[guard]
impl NotBlocked {
    fn check<F: ModuleForm>(ctx: &Context<F>) -> Result<(), Failure> {
        match ctx.header("x-blocked") {
            Some(why) => Err(Failure::new(HttpStatus::TOO_MANY_REQUESTS, why).header("retry-after", "7")),
            None => Ok(()),
        }
    }
}

/// An extractor that calls.
pub struct Count(u32);

impl<F: ModuleForm> FromContext<F> for Count {
    async fn from_context(ctx: &Context<F>, _argument: &'static str) -> Result<Self, Failure> {
        let user = Guarded::<SignedIn>::from_context(ctx, "user").await?;
        F::call::<CountOf>(ctx, user.0.clone()).await.map(Self)
    }
}

/// An extractor that asks for one guard twice at once.
pub struct Twice(String);

impl<F: ModuleForm> FromContext<F> for Twice {
    async fn from_context(ctx: &Context<F>, _argument: &'static str) -> Result<Self, Failure> {
        let user = || Guarded::<SignedIn>::from_context(ctx, "user");
        let (one, other) = join(user(), user()).await;
        Ok(Self(format!("{} {}", one?.0, other?.0)))
    }
}

/// An extractor that calls if there is a token.
pub struct Guest(String);

impl<F: ModuleForm> OptionalFromContext<F> for Guest {
    async fn optional_from_context(ctx: &Context<F>, _argument: &'static str) -> Result<Option<Self>, Failure> {
        let Some(token) = ctx.header("x-token") else {
            return Ok(None);
        };
        let user = F::call::<Verify>(ctx, token).await?;
        Ok(Some(Self(user.ok_or(HttpStatus::FORBIDDEN)?)))
    }
}

/// Marks what the block replies.
pub struct Marked;

#[after]
impl Marked {
    fn after(outcome: Outcome) -> Outcome {
        outcome.header("x-after", "block")
    }
}

/// Makes a wrong header.
pub struct Forges;

#[after]
impl Forges {
    fn after(outcome: Outcome) -> Outcome {
        outcome.header("x-forged", "a\nb")
    }
}

/// Is behind `after:` of the module.
pub struct Named;

#[after]
impl Named {
    fn after<F: ModuleForm>(ctx: &Context<F>, outcome: Outcome) -> Outcome {
        outcome.header("x-after", "module").header("x-route", ctx.route())
    }
}

/// The body of every error (RFC 9457). It makes a wrong header of a message with a newline.
pub fn problem(failure: &Failure) -> Result<Reply, Failure> {
    let body = json!({ "title": failure.message(), "status": failure.status(), "code": failure.code() });
    Ok(Reply::new(200_u16)
        .json(&body)?
        .header("content-type", "application/problem+json")
        .header("x-title", failure.message()))
}

/// The bookings of a user.
pub struct Bookings;

#[controller("bookings", guard = SignedIn, after = Marked)]
impl Bookings {
    #[get]
    fn list(user: Guarded<SignedIn>, again: &Guarded<SignedIn>, count: Count) -> String {
        format!("{} {} {}", user.0, again.0, count.0)
    }

    #[post]
    fn create(number: Json<u32>) -> String {
        format!("booked {}", *number)
    }

    #[get("admin")]
    #[guard(Admin)]
    fn admin(user: Guarded<SignedIn>, admin: Guarded<Admin>) -> String {
        format!("{} {}", user.0, admin.0)
    }

    #[get("open")]
    #[guard(none)]
    #[after(none)]
    fn open() -> &'static str {
        "open"
    }

    #[get("broken")]
    fn broken() -> Failure {
        Failure::with_code("sold-out", 409_u16, "no room").header("x-room", "7")
    }
}

/// Guards that do what they should not.
pub struct Odd;

#[controller("odd")]
impl Odd {
    #[get("traps")]
    #[guard(Traps)]
    fn traps() -> &'static str {
        "never"
    }

    #[get("loops")]
    #[guard(Loops)]
    fn loops() -> &'static str {
        "never"
    }

    #[get("replies")]
    #[guard(Replies)]
    fn replies() -> &'static str {
        println!("the handler runs");
        "by the handler"
    }

    #[post("reads")]
    #[guard(ReadsBody)]
    fn reads(body: Guarded<ReadsBody>) -> String {
        body.clone()
    }

    #[post("reads-both")]
    #[guard(ReadsBody)]
    fn reads_both(body: String) -> String {
        body
    }

    #[get("refuses")]
    #[guard(RepliesAndRefuses)]
    fn refuses() -> &'static str {
        println!("the handler runs");
        "by the handler"
    }
}

/// Arguments that call.
pub struct Arguments;

#[controller("arguments")]
impl Arguments {
    #[get("twice")]
    fn twice(twice: Twice, user: Guarded<SignedIn>) -> String {
        format!("{} {}", twice.0, user.0)
    }

    #[get("guest")]
    fn guest(guest: Option<Guest>) -> String {
        guest.map_or_else(|| "nobody".to_owned(), |guest| guest.0)
    }

    #[get("user")]
    fn user(user: Result<Guarded<SignedIn>, Failure>) -> String {
        user.map_or_else(|failure| failure.message().to_owned(), |user| user.0.clone())
    }
}

/// Replies that are errors.
pub struct Wrong;

#[controller("wrong")]
impl Wrong {
    #[get("header")]
    fn header() -> (HttpStatus, [(&'static str, &'static str); 1], &'static str) {
        (HttpStatus::ACCEPTED, [("x-to", "a\nb")], "by the handler")
    }

    #[get("hook")]
    #[after(Forges)]
    fn hook() -> &'static str {
        "by the handler"
    }

    #[get("shape")]
    fn shape() -> Failure {
        Failure::new(404_u16, "no\nroom").header("x-room", "7")
    }

    #[get("stale")]
    fn stale(conditions: Conditions) -> Unmodified<&'static str> {
        conditions.reply(ETag::strong("v7"), || "by the handler")
    }
}
