//! The return values of handlers.

mod outcome;
mod parts;
mod values;

use std::borrow::Cow;
use std::fmt;

use http::StatusCode;
use pointwork_events::Payload;
use serde::Serialize;

pub use outcome::{Deferred, IntoOutcome, Outcome};
pub use parts::ReplyParts;
pub use values::{Created, Html, NoContent, Redirect};

use crate::bindings::types;
use crate::failure::Failure;
use crate::header;
use crate::json::{CONTENT_TYPE, Json};

/// A reply: status, headers and body.
///
/// Handlers that set no headers can return a simpler type; see [`IntoReply`].
///
/// ```
/// use pointwork_guest::{HttpStatus, Reply};
///
/// fn created(id: u64) -> Reply {
///     Reply::new(HttpStatus::CREATED).header("location", format!("/products/{id}")).text("created")
/// }
/// ```
#[derive(Clone)]
#[must_use = "a reply does nothing until the handler returns it"]
pub struct Reply {
    raw: types::Reply,
    /// The error of the first wrong header, which is the reply instead.
    invalid: Option<Box<Failure>>,
}

impl Reply {
    /// A reply without headers and body. `status` is 200 to 599; the host refuses any other.
    pub fn new(status: impl Into<u16>) -> Self {
        Self {
            raw: types::Reply {
                status: status.into(),
                headers: Vec::new(),
                body: types::Body::Empty,
            },
            invalid: None,
        }
    }

    /// A reply whose headers nothing has checked.
    pub(crate) fn unchecked(raw: types::Reply) -> Self {
        Self { raw, invalid: None }
    }

    /// Sets the status.
    pub fn status(mut self, status: impl Into<u16>) -> Self {
        self.raw.status = status.into();
        self
    }

    /// Sets the status of a part around the value. A 304 stays: its client would take the reply without a body for a new one.
    pub(crate) fn status_around(self, status: impl Into<u16>) -> Self {
        if self.is_not_modified() {
            self
        } else {
            self.status(status)
        }
    }

    pub(crate) fn is_not_modified(&self) -> bool {
        self.raw.status == StatusCode::NOT_MODIFIED.as_u16()
    }

    /// Adds a header; earlier headers of the same name stay, except for `content-type`, which replaces an earlier one and
    /// the default of the body. Only the host sets headers of the connection and of message framing, such as
    /// `content-length`; it drops them here.
    ///
    /// A name that is no token, or a value with a control character, such as the newline of a client's input, makes the
    /// reply the error 500 `invalid-reply`, which after-hooks and `errors:` of the module see. The log has the place of the
    /// call.
    #[track_caller]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        let (name, value) = (name.into(), value.into());
        if let Err(invalid) = header::check(&name, &value) {
            self.invalid.get_or_insert_with(|| Box::new(invalid));
            return self;
        }
        if name.eq_ignore_ascii_case(CONTENT_TYPE) {
            let is_other = |header: &types::Header| !header.name.eq_ignore_ascii_case(CONTENT_TYPE);
            self.raw.headers.retain(is_other);
        }
        self.raw.headers.push(types::Header { name, value });
        self
    }

    /// The reply for the host, or the error of a wrong header.
    pub(crate) fn into_raw(self) -> Result<types::Reply, Failure> {
        match self.invalid {
            Some(invalid) => Err(*invalid),
            None => Ok(self.raw),
        }
    }

    /// Adds the headers of another reply, and its error.
    pub(crate) fn headers_of(mut self, head: Self) -> Self {
        self.raw.headers.extend(head.raw.headers);
        self.or_invalid(head.invalid)
    }

    /// Adds the error of something wrong in the head.
    pub(crate) fn or_invalid(mut self, invalid: Option<Box<Failure>>) -> Self {
        self.invalid = self.invalid.or(invalid);
        self
    }

    /// Sets the body to text; the default content type is `text/plain; charset=utf-8`.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.raw.body = types::Body::Text(text.into());
        self
    }

    /// Sets the body to bytes; the default content type is `application/octet-stream`.
    pub fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.raw.body = types::Body::Bytes(bytes.into());
        self
    }

    /// Sets the body to a value as JSON; the default content type is `application/json`.
    ///
    /// # Errors
    ///
    /// The value cannot be written as JSON, such as a map whose keys are not text.
    pub fn json<T: Serialize + ?Sized>(self, value: &T) -> Result<Self, Failure> {
        let text = serde_json::to_string(value).map_err(|error| {
            crate::log::error!("the reply cannot be written as JSON: {error}");
            Failure::new(500_u16, "the server could not write its reply")
        })?;
        Ok(self.json_text(text))
    }

    fn json_text(mut self, text: String) -> Self {
        self.raw.body = types::Body::Json(text);
        self
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.invalid {
            Some(invalid) => fmt::Debug::fmt(invalid, f),
            None => fmt::Debug::fmt(&self.raw, f),
        }
    }
}

/// A type that converts into a reply.
///
/// | value | reply |
/// |---|---|
/// | `&'static str`, `String`, `Cow<'static, str>` | 200, `text/plain; charset=utf-8` |
/// | `Vec<u8>`, `&'static [u8]` | 200, `application/octet-stream` |
/// | `Payload` | 200, its content type |
/// | [`Json<T>`](Json) | 200, `application/json` |
/// | [`HttpStatus`](StatusCode) | that status, no body |
/// | [`Html<T>`](Html) | 200, `text/html; charset=utf-8` |
/// | [`Redirect`] | 303, 307 or 308 with `location` |
/// | [`Created(location, value)`](Created()) | the value's reply with 201 and `location` |
/// | [`NoContent`] | 204 |
/// | `(parts, …, value)`, up to four [`ReplyParts`]: a status, headers | the value's reply with the parts |
/// | [`Reply`] | itself |
///
/// ```
/// use pointwork_guest::testing::TestRequest;
/// use pointwork_guest::{Created, HttpStatus, IntoReply, Json};
///
/// fn accepted() -> impl IntoReply {
///     (HttpStatus::ACCEPTED, [("retry-after", "5"), ("x-queue", "7")], "in the queue")
/// }
///
/// fn created(id: u64) -> impl IntoReply {
///     Created(format!("/products/{id}"), Json(id))
/// }
///
/// let answer = TestRequest::get("/").run_with(|_| accepted());
/// assert_eq!((answer.status(), answer.header("x-queue").as_deref()), (202, Some("7")));
/// let answer = TestRequest::post("/").run_with(|_| created(7));
/// assert_eq!((answer.status(), answer.header("location").as_deref()), (201, Some("/products/7")));
/// ```
///
/// Implement it for types of your own:
///
/// ```
/// use pointwork_guest::{IntoReply, Reply, Failure};
///
/// struct Csv(String);
///
/// impl IntoReply for Csv {
///     fn into_reply(self) -> Result<Reply, Failure> {
///         Ok(Reply::new(200_u16).header("content-type", "text/csv").text(self.0))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not convert into a reply",
    label = "expected text, bytes, `Json<…>`, a status, `(status, …)`, `(status, [headers], …)` or a `Reply`",
    note = "to reply with a serializable value as JSON, return `Json(…)`"
)]
pub trait IntoReply {
    /// Converts the value.
    ///
    /// # Errors
    ///
    /// The value cannot be converted. The error is the reply instead.
    #[track_caller]
    fn into_reply(self) -> Result<Reply, Failure>;
}

/// Implements `IntoReply` for types that always convert.
macro_rules! into_reply {
    ($($ty:ty: $value:ident => $reply:expr;)*) => {$(
        impl IntoReply for $ty {
            fn into_reply(self) -> Result<Reply, Failure> {
                let $value = self;
                Ok($reply)
            }
        }
    )*};
}

into_reply! {
    Reply: reply => reply;
    StatusCode: status => Reply::new(status);
    String: text => Reply::new(200_u16).text(text);
    &'static str: text => Reply::new(200_u16).text(text);
    Cow<'static, str>: text => Reply::new(200_u16).text(text);
    Vec<u8>: bytes => Reply::new(200_u16).bytes(bytes);
    &'static [u8]: bytes => Reply::new(200_u16).bytes(bytes);
}

/// The data with its content type.
impl IntoReply for Payload {
    fn into_reply(self) -> Result<Reply, Failure> {
        let reply = Reply::new(200_u16);
        Ok(match self {
            Self::Json(text) => reply.json_text(text.into_owned()),
            Self::Bytes { content_type, data } => reply.header(CONTENT_TYPE, content_type.into_owned()).bytes(data),
        })
    }
}

impl<T: Serialize> IntoReply for Json<T> {
    fn into_reply(self) -> Result<Reply, Failure> {
        Reply::new(200_u16).json(&self.0)
    }
}
