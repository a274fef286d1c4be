//! The values that a handler may return.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use serde::Serialize;

use super::body::Body;
use super::context::Context;
use crate::{Crash, Failure, FailureCode};

/// How a handler ended.
#[derive(Debug)]
pub enum Outcome {
    /// Its value is the reply (spec H5).
    Reply(Response<Body>),
    /// The reply was sent, or is left to whoever holds the context (spec H6).
    Deferred,
    /// The handler itself crashed: a trap, a panic. The client gets the crash's status without any detail; the crash goes
    /// to the log and to `server:crashed` (spec E1).
    Crashed(Box<Crash>),
}

/// Anything that can be a reply (spec H1, H5, H6).
///
/// | value | reply |
/// |---|---|
/// | `&str`, `String` | 200, `text/plain; charset=utf-8` |
/// | `Bytes`, `Vec<u8>` | 200, `application/octet-stream` |
/// | [`Json<T>`], `serde_json::Value` | 200, `application/json` |
/// | `(StatusCode, T)` | as `T`, with that status |
/// | `Option<T>` | as `T`; `None` is 404 |
/// | `Result<T, E>` | as `T`; an error that converts into [`Failure`] ends the request with it |
/// | [`Failure`] | its status, with the body `{"message": …}` |
/// | `http::Response<Body>` | itself |
/// | [`Context`], `()` | none: whoever holds the context replies |
pub trait IntoReply {
    /// Turns the value into the outcome of a handler.
    fn into_reply(self) -> Outcome;
}

/// A value to be sent as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

pub(crate) fn with_content(content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// The reply for an error: `{"message": …}`, the one shape that all of Pointwork's own errors have.
pub fn error_reply(status: StatusCode, message: &str) -> Response<Body> {
    #[derive(Serialize)]
    struct Message<'a> {
        message: &'a str,
    }
    // A string always has a JSON form.
    let body = serde_json::to_vec(&Message { message }).unwrap_or_default();
    let mut response = with_content("application/json", body);
    *response.status_mut() = status;
    response
}

impl IntoReply for Outcome {
    fn into_reply(self) -> Outcome {
        self
    }
}

impl IntoReply for Response<Body> {
    fn into_reply(self) -> Outcome {
        Outcome::Reply(self)
    }
}

impl IntoReply for &'static str {
    fn into_reply(self) -> Outcome {
        Outcome::Reply(with_content("text/plain; charset=utf-8", self))
    }
}

impl IntoReply for String {
    fn into_reply(self) -> Outcome {
        Outcome::Reply(with_content("text/plain; charset=utf-8", self))
    }
}

impl IntoReply for Bytes {
    fn into_reply(self) -> Outcome {
        Outcome::Reply(with_content("application/octet-stream", self))
    }
}

impl IntoReply for Vec<u8> {
    fn into_reply(self) -> Outcome {
        Bytes::from(self).into_reply()
    }
}

impl<T: Serialize> IntoReply for Json<T> {
    fn into_reply(self) -> Outcome {
        match serde_json::to_vec(&self.0) {
            Ok(body) => Outcome::Reply(with_content("application/json", body)),
            Err(error) => {
                let message = format!("the reply cannot be written as JSON: {error}");
                Failure::new(StatusCode::INTERNAL_SERVER_ERROR, message).into_reply()
            }
        }
    }
}

impl IntoReply for serde_json::Value {
    fn into_reply(self) -> Outcome {
        Json(self).into_reply()
    }
}

impl IntoReply for Failure {
    fn into_reply(self) -> Outcome {
        Outcome::Reply(error_reply(self.status(), self.message()))
    }
}

impl IntoReply for StatusCode {
    fn into_reply(self) -> Outcome {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = self;
        Outcome::Reply(response)
    }
}

impl<T: IntoReply> IntoReply for (StatusCode, T) {
    fn into_reply(self) -> Outcome {
        match self.1.into_reply() {
            Outcome::Reply(mut response) => {
                *response.status_mut() = self.0;
                Outcome::Reply(response)
            }
            other => other,
        }
    }
}

impl<T: IntoReply> IntoReply for Option<T> {
    fn into_reply(self) -> Outcome {
        match self {
            Some(value) => value.into_reply(),
            None => Failure::new(StatusCode::NOT_FOUND, "not found").into_reply(),
        }
    }
}

impl<T: IntoReply, E: Into<Failure>> IntoReply for Result<T, E> {
    fn into_reply(self) -> Outcome {
        match self {
            Ok(value) => value.into_reply(),
            Err(error) => error.into().into_reply(),
        }
    }
}

impl IntoReply for Context {
    fn into_reply(self) -> Outcome {
        Outcome::Deferred
    }
}

impl IntoReply for &Context {
    fn into_reply(self) -> Outcome {
        Outcome::Deferred
    }
}

impl IntoReply for () {
    fn into_reply(self) -> Outcome {
        Outcome::Deferred
    }
}

/// Refuses a status that cannot be that of a reply: an informational or an undefined one.
pub(crate) fn check_reply(response: &Response<Body>) -> Result<(), Failure> {
    let status = response.status().as_u16();
    if (200..=599).contains(&status) {
        return Ok(());
    }
    let message = format!("{status} cannot be the status of a reply; expected 200 to 599");
    Err(Failure::internal(FailureCode::INVALID_REPLY, message))
}
