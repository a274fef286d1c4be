//! The return values of handlers.

mod outcome;

use std::borrow::Cow;
use std::fmt;

use http::StatusCode;
use serde::Serialize;

pub use outcome::{Deferred, IntoOutcome, Outcome};

use crate::bindings::types;
use crate::failure::Failure;
use crate::json::Json;

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
pub struct Reply(types::Reply);

impl Reply {
    /// A reply without headers and body. `status` is 200 to 599; the host refuses any other.
    pub fn new(status: impl Into<u16>) -> Self {
        Self(types::Reply {
            status: status.into(),
            headers: Vec::new(),
            body: types::Body::Empty,
        })
    }

    /// Sets the status.
    pub fn status(mut self, status: impl Into<u16>) -> Self {
        self.0.status = status.into();
        self
    }

    /// Adds a header; earlier headers of the same name stay. `content-type` replaces the default of the body. Only the
    /// host sets headers of the connection and of message framing, such as `content-length`; it drops them here.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.0.headers.push(types::Header {
            name: name.into(),
            value: value.into(),
        });
        self
    }

    /// Sets the body to text; the default content type is `text/plain; charset=utf-8`.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.0.body = types::Body::Text(text.into());
        self
    }

    /// Sets the body to bytes; the default content type is `application/octet-stream`.
    pub fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.0.body = types::Body::Bytes(bytes.into());
        self
    }

    /// Sets the body to a value as JSON; the default content type is `application/json`.
    ///
    /// # Errors
    ///
    /// The value cannot be written as JSON, such as a map whose keys are not text.
    pub fn json<T: Serialize + ?Sized>(mut self, value: &T) -> Result<Self, Failure> {
        let text = serde_json::to_string(value).map_err(|error| {
            crate::log::error!("the reply cannot be written as JSON: {error}");
            Failure::new(500_u16, "the server could not write its reply")
        })?;
        self.0.body = types::Body::Json(text);
        Ok(self)
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl From<Reply> for types::Reply {
    fn from(reply: Reply) -> Self {
        reply.0
    }
}

/// A type that converts into a reply (spec H5).
///
/// | value | reply |
/// |---|---|
/// | `&'static str`, `String`, `Cow<'static, str>` | 200, `text/plain; charset=utf-8` |
/// | `Vec<u8>`, `&'static [u8]` | 200, `application/octet-stream` |
/// | [`Json<T>`](Json) | 200, `application/json` |
/// | [`HttpStatus`](StatusCode) | that status, no body |
/// | `(status, value)`, status an `HttpStatus` or `u16` | the value's reply with that status |
/// | [`Reply`] | itself |
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
    label = "expected text, bytes, `Json<…>`, a status, `(status, …)` or a `Reply`",
    note = "to reply with a serializable value as JSON, return `Json(…)`"
)]
pub trait IntoReply {
    /// Converts the value.
    ///
    /// # Errors
    ///
    /// The value cannot be converted. The error is the reply instead.
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

impl<T: Serialize> IntoReply for Json<T> {
    fn into_reply(self) -> Result<Reply, Failure> {
        Reply::new(200_u16).json(&self.0)
    }
}

impl<T: IntoReply> IntoReply for (StatusCode, T) {
    fn into_reply(self) -> Result<Reply, Failure> {
        Ok(self.1.into_reply()?.status(self.0))
    }
}

impl<T: IntoReply> IntoReply for (u16, T) {
    fn into_reply(self) -> Result<Reply, Failure> {
        Ok(self.1.into_reply()?.status(self.0))
    }
}
