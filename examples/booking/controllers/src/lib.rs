//! The controllers of a service for bookings: each function is the handler of a route.

#[cfg(test)]
mod tests;

use booking_events::{Book, Booking, BookingById, BookingsOn, KeepPicture, NewBooking, Page, PictureById, UserOf};
use pointwork_guest::{
    Bearer, Conditions, Context, CookieKey, Cookies, Created, ETag, Failure, Form, Guarded, HttpStatus, Json,
    Multipart, NoContent, Path, Payload, Query, Redirect, Unmodified, Valid, controller, cookie::Cookie, guard, module,
};
use uuid::Uuid;

type Result<T, E = Failure> = std::result::Result<T, E>;

/// A client with the token of a user. The channel `accounts` knows the tokens.
struct SignedIn;

#[guard]
impl SignedIn {
    fn check(ctx: &Context, token: Bearer) -> Result<String> {
        let user = ctx.call::<UserOf>(token.0)?;
        user.ok_or_else(|| Bearer::refused("no valid token"))
    }
}

struct Bookings;

#[controller("bookings", guard = SignedIn)]
impl Bookings {
    #[get]
    fn list(ctx: &Context, Valid(Query(page)): Valid<Query<Page>>) -> Result<Json<Vec<Booking>>> {
        ctx.call::<BookingsOn>(page).map(Json)
    }

    #[get(":id")]
    fn show(ctx: &Context, id: Path<u64>) -> Result<Option<Json<Booking>>> {
        Ok(ctx.call::<BookingById>(*id)?.map(Json))
    }

    #[post]
    fn create(ctx: &Context, Valid(Json(new)): Valid<Json<NewBooking>>) -> Result<Created<Json<Booking>>> {
        let booking = ctx.call::<Book>(new)?;
        Ok(Created(format!("/bookings/{}", booking.id), Json(booking)))
    }

    /// What `create` does, for the form of a browser.
    #[post("form")]
    fn submit(ctx: &Context, Valid(Form(new)): Valid<Form<NewBooking>>) -> Result<Redirect> {
        let booking = ctx.call::<Book>(new)?;
        Ok(Redirect::to(format!("/bookings/{}", booking.id)))
    }

    #[post("pictures", body = "stream")]
    fn upload(ctx: &Context, mut form: Multipart) -> Result<Created<String>> {
        let file = form.next_part()?.ok_or(HttpStatus::BAD_REQUEST)?;
        if file.content_type() != Some("image/png") {
            return Err(ctx.throw(HttpStatus::UNSUPPORTED_MEDIA_TYPE, "expected `image/png`"));
        }
        let id = ctx.call::<KeepPicture>(Payload::new("image/png", file.bytes(1_000_000)?))?;
        Ok(Created(format!("/bookings/pictures/{id}"), id.to_string()))
    }

    /// A picture never changes, so its id is its tag.
    #[get("pictures/:id")]
    fn picture(ctx: &Context, id: Path<Uuid>, conditions: Conditions) -> Result<Unmodified<Payload>> {
        conditions.try_reply(ETag::strong(id.to_string()), || ctx.call::<PictureById>(*id))
    }
}

struct Session;

#[controller("session")]
impl Session {
    #[post]
    fn create(user: Guarded<SignedIn>, cookies: Cookies) -> Result<(Cookies, NoContent)> {
        let cookie = Cookie::build(("session", user.to_string())).http_only(true);
        let cookies = cookies.set_signed(&CookieKey::from_variable("SESSION_KEY")?, cookie);
        Ok((cookies, NoContent))
    }

    #[get]
    fn show(cookies: Cookies) -> Result<Option<String>> {
        Ok(cookies.signed(&CookieKey::from_variable("SESSION_KEY")?, "session"))
    }
}

module! { Bookings, Session }
