//! Parts of requests and replies that the SDK reads and writes.

use pointwork_guest::cookie::Cookie;
use pointwork_guest::{
    Conditions, CookieKey, Cookies, Created, ETag, Failure, Form, IntoReply, Multipart, Params, Pieces, Query,
    Redirect, Reply, Streamed, Unmodified, controller,
};
use serde::Deserialize;

/// A target of a client.
#[derive(Debug, Deserialize)]
pub struct Target {
    to: String,
}

/// A form.
#[derive(Debug, Deserialize)]
pub struct Login {
    user: String,
}

/// Everything that the SDK adds to the context.
pub struct Parts;

#[controller("parts")]
impl Parts {
    #[get("redirect")]
    fn redirect(target: Query<Target>) -> Redirect {
        Redirect::to(&target.to)
    }

    #[get("created")]
    fn created(target: Query<Target>) -> Created<&'static str> {
        Created(&target.to, "made")
    }

    #[post("form")]
    fn form(form: Form<Login>) -> String {
        form.0.user
    }

    #[get("pair/:one")]
    #[get("pair/:one/:two")]
    fn pair(pair: Params<(u32, u32)>) -> String {
        format!("{} {}", pair.0.0, pair.0.1)
    }

    #[post("login")]
    fn login(cookies: Cookies, login: Form<Login>) -> Result<impl IntoReply, Failure> {
        Ok((
            cookies.set_signed(&key()?, ("user", login.0.user)),
            Redirect::to("/parts/user"),
        ))
    }

    #[get("cookie")]
    fn cookie(cookies: Cookies, target: Query<Target>) -> (Cookies, &'static str) {
        (cookies.set(Cookie::build(("a", "1")).path(target.0.to)), "set")
    }

    #[get("user")]
    fn user(cookies: Cookies) -> Result<Option<String>, Failure> {
        Ok(cookies.signed(&key()?, "user"))
    }

    #[post("upload", body = "stream")]
    fn upload(mut form: Multipart) -> Result<String, Failure> {
        let (mut parts, mut bytes) = (0, 0);
        while let Some(mut part) = form.next_part()? {
            parts += 1;
            while let Some(chunk) = part.read()? {
                bytes += chunk.len();
            }
        }
        Ok(format!("{parts} parts, {bytes} bytes"))
    }

    #[get("rows/:count")]
    fn rows(count: pointwork_guest::Path<u32>) -> Streamed<impl Pieces> {
        let rows = (0..*count).map(|row| format!("{row}\n"));
        Reply::new(200_u16).header("content-type", "text/csv").iter(rows)
    }

    /// Empty pieces for ever.
    #[get("empty")]
    fn empty() -> Streamed<impl Pieces> {
        Reply::new(200_u16).iter(std::iter::once("begun").chain(std::iter::repeat("")))
    }

    #[get("broken")]
    fn broken() -> Streamed<impl Pieces> {
        Reply::new(200_u16).iter([Ok("one"), Err(Failure::new(500_u16, "no more"))])
    }

    #[get("page")]
    fn page(conditions: Conditions) -> Unmodified<&'static str> {
        conditions.reply(ETag::strong("v7"), || "page")
    }
}

fn key() -> Result<CookieKey, Failure> {
    CookieKey::new(b"0123456789abcdef0123456789abcdef")
}
