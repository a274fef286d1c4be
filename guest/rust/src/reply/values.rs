use http::StatusCode;
use percent_encoding::{AsciiSet, utf8_percent_encode};

use super::{IntoReply, Reply};
use crate::failure::Failure;
use crate::header;

/// HTML as a reply: the value's reply with `text/html; charset=utf-8`.
///
/// ```
/// use pointwork_guest::Html;
///
/// fn page(name: &str) -> Html<String> {
///     Html(format!("<h1>{}</h1>", name.replace('&', "&amp;").replace('<', "&lt;")))
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Html<T>(pub T);

impl<T: IntoReply> IntoReply for Html<T> {
    fn into_reply(self) -> Result<Reply, Failure> {
        let reply = self.0.into_reply()?;
        if reply.is_not_modified() {
            return Ok(reply);
        }
        Ok(reply.header("content-type", "text/html; charset=utf-8"))
    }
}

/// 204, a reply without content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoContent;

impl IntoReply for NoContent {
    fn into_reply(self) -> Result<Reply, Failure> {
        Ok(Reply::new(StatusCode::NO_CONTENT))
    }
}

/// A redirect to another location, relative or absolute.
///
/// Spaces and characters beyond ASCII are percent-encoded; what is encoded already stays as it is. A location with a control
/// character, such as the newline of a client's input, makes the reply 500 with the code `invalid-reply`.
///
/// Check a location that comes from a client: your application redirects to any site otherwise. A location that begins with
/// a slash may lead to another site too: browsers read `//evil.example` and `/\evil.example` as the host `evil.example`.
///
/// ```
/// use pointwork_guest::Redirect;
///
/// fn after_login() -> Redirect {
///     Redirect::to("/bookings")
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Redirect(Reply);

impl Redirect {
    /// 303: the client gets the location with GET, as after a form.
    #[track_caller]
    pub fn to(location: impl Into<String>) -> Self {
        Self::with(StatusCode::SEE_OTHER, location.into())
    }

    /// 307: the client repeats the request there, this time.
    #[track_caller]
    pub fn temporary(location: impl Into<String>) -> Self {
        Self::with(StatusCode::TEMPORARY_REDIRECT, location.into())
    }

    /// 308: the client repeats the request there, from now on.
    #[track_caller]
    pub fn permanent(location: impl Into<String>) -> Self {
        Self::with(StatusCode::PERMANENT_REDIRECT, location.into())
    }

    #[track_caller]
    fn with(status: StatusCode, location: String) -> Self {
        Self(located(status, &location))
    }
}

impl IntoReply for Redirect {
    fn into_reply(self) -> Result<Reply, Failure> {
        Ok(self.0)
    }
}

/// Spaces of a location are encoded, as characters beyond ASCII always are. Control characters are refused.
const NOT_IN_A_LOCATION: &AsciiSet = &AsciiSet::EMPTY.add(b' ');

#[track_caller]
fn located(status: StatusCode, location: &str) -> Reply {
    let reply = Reply::new(status);
    // A header may have a tab, which browsers leave out: they read `/<tab>/evil.example` as `//evil.example`.
    if let Some(at) = location.bytes().position(|byte| byte.is_ascii_control()) {
        let byte = location.as_bytes()[at];
        let problem = format!("the location has the byte {byte} at position {at}, which a URL cannot have");
        return reply.or_invalid(Some(Box::new(header::invalid(&problem))));
    }
    reply.header("location", utf8_percent_encode(location, NOT_IN_A_LOCATION).to_string())
}

/// A reply about something that the request created; [`Created()`] makes it.
#[derive(Clone, Debug)]
pub struct Created<T> {
    head: Reply,
    body: T,
}

/// 201: the body's reply with the location of what the request created, which is encoded as that of a [`Redirect`].
///
/// ```
/// use pointwork_guest::{Created, Json};
///
/// fn create() -> Created<Json<u64>> {
///     Created("/products/7", Json(7))
/// }
/// ```
#[allow(non_snake_case, reason = "a constructor that records the place of its caller")]
#[track_caller]
pub fn Created<T>(location: impl Into<String>, body: T) -> Created<T> {
    Created {
        head: located(StatusCode::CREATED, &location.into()),
        body,
    }
}

impl<T: IntoReply> IntoReply for Created<T> {
    fn into_reply(self) -> Result<Reply, Failure> {
        let reply = self.body.into_reply()?;
        Ok(reply.status_around(StatusCode::CREATED).headers_of(self.head))
    }
}
