//! What a handler may return.

mod outcome;
mod throw;

use std::borrow::Cow;
use std::fmt;

use http::StatusCode;
use serde::Serialize;

pub use outcome::{Deferred, IntoOutcome, Outcome};
pub use throw::Throw;

use crate::Json;
use crate::bindings::types;

/// A whole reply: status, headers and body.
///
/// Most handlers return something simpler; see [`IntoReply`]. This is for those that set headers.
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
    /// An empty reply. `status` is 200 to 599; the host refuses any other.
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

    /// Adds a header; one of that name that is there already stays. `content-type` replaces the one that the body would
    /// pick. Headers that frame the message or belong to the connection are the host's alone: it drops them.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        self.0.headers.push(types::Header {
            name: name.into(),
            value: value.into(),
        });
        self
    }

    /// The body: `text/plain; charset=utf-8`.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.0.body = types::Body::Text(text.into());
        self
    }

    /// The body: `application/octet-stream`, unless a `content-type` is set.
    pub fn bytes(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.0.body = types::Body::Bytes(bytes.into());
        self
    }

    /// The body: `application/json`.
    ///
    /// # Errors
    ///
    /// The value cannot be written as JSON, such as a map with keys that are no text.
    pub fn json<T: Serialize + ?Sized>(mut self, value: &T) -> Result<Self, Throw> {
        self.0.body = types::Body::Json(serde_json::to_string(value).map_err(|error| unwritable(&error))?);
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

fn unwritable(error: &serde_json::Error) -> Throw {
    crate::log::error!("the reply cannot be written as JSON: {error}");
    Throw::new(500_u16, "the server could not write its reply")
}

/// A value that is a reply by itself (spec H5).
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
/// Implement it for a type of your own that is a reply:
///
/// ```
/// use pointwork_guest::{IntoReply, Reply, Throw};
///
/// struct Csv(String);
///
/// impl IntoReply for Csv {
///     fn into_reply(self) -> Result<Reply, Throw> {
///         Ok(Reply::new(200_u16).header("content-type", "text/csv").text(self.0))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no reply",
    label = "expected text, bytes, `Json<…>`, a status, `(status, …)` or a `Reply`",
    note = "wrap a value that serde can write in `Json(…)`"
)]
pub trait IntoReply {
    /// Makes the reply.
    ///
    /// # Errors
    ///
    /// The value cannot be written; the error is the reply instead.
    fn into_reply(self) -> Result<Reply, Throw>;
}

impl IntoReply for Reply {
    fn into_reply(self) -> Result<Reply, Throw> {
        Ok(self)
    }
}

impl IntoReply for String {
    fn into_reply(self) -> Result<Reply, Throw> {
        Ok(Reply::new(200_u16).text(self))
    }
}

impl IntoReply for &'static str {
    fn into_reply(self) -> Result<Reply, Throw> {
        self.to_owned().into_reply()
    }
}

impl IntoReply for Cow<'static, str> {
    fn into_reply(self) -> Result<Reply, Throw> {
        self.into_owned().into_reply()
    }
}

impl IntoReply for Vec<u8> {
    fn into_reply(self) -> Result<Reply, Throw> {
        Ok(Reply::new(200_u16).bytes(self))
    }
}

impl IntoReply for &'static [u8] {
    fn into_reply(self) -> Result<Reply, Throw> {
        self.to_owned().into_reply()
    }
}

impl<T: Serialize> IntoReply for Json<T> {
    fn into_reply(self) -> Result<Reply, Throw> {
        Reply::new(200_u16).json(&self.0)
    }
}

impl IntoReply for StatusCode {
    fn into_reply(self) -> Result<Reply, Throw> {
        Ok(Reply::new(self))
    }
}

impl<T: IntoReply> IntoReply for (StatusCode, T) {
    fn into_reply(self) -> Result<Reply, Throw> {
        Ok(self.1.into_reply()?.status(self.0))
    }
}

impl<T: IntoReply> IntoReply for (u16, T) {
    fn into_reply(self) -> Result<Reply, Throw> {
        Ok(self.1.into_reply()?.status(self.0))
    }
}
