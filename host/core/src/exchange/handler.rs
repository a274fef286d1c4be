//! The handler of a route, and the values that it may return.

use std::convert::identity;
use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use pointwork_events::reply::check_status;
use serde::Serialize;
use serde_json::{Map, Value};

use super::body::Body;
use super::context::Context;
use super::failed_request::FailedRequest;
use crate::crash::INTERNAL_ERROR;
use crate::{BoxFuture, Crash, Failure, FailureCode, JSON};

/// The future of one call of a handler.
pub type HandlerFuture = BoxFuture<'static, Outcome>;

/// Handles the requests of one route (spec H1). Any `Fn(Context) -> impl Future` whose output is a reply is one.
pub trait Handler: Send + Sync + 'static {
    /// Handles one request. The future is dropped when the client goes away or the deadline passes.
    fn call(&self, context: Context) -> HandlerFuture;

    /// The limits of its requests; read once for each table.
    fn limits(&self) -> RequestLimits {
        RequestLimits::default()
    }
}

impl<F, Fut> Handler for F
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoReply> + Send + 'static,
{
    fn call(&self, context: Context) -> HandlerFuture {
        let value = self(context);
        Box::pin(async move { value.await.into_reply() })
    }
}

/// How a handler takes the request's body (spec H9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BodyMode {
    /// Not at all: the handler runs at once, and reading the body fails with [`GONE`](crate::FailureCode::GONE).
    None,
    /// Whole: the handler runs when the body has arrived, and reads it from memory. A request without a body waits for
    /// nothing.
    Whole,
    /// Chunk by chunk: the handler runs at once.
    #[default]
    Stream,
}

/// How one route takes its requests. Each limit counts only where it is narrower than the limit of every request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestLimits {
    /// How the handler takes the body.
    pub body_mode: BodyMode,
    /// The time until a reply begins; 504 past it.
    pub deadline: Option<Duration>,
    /// The longest request body that is held in memory, in bytes; 413 past it.
    pub body: Option<u64>,
    /// The longest request body with JSON that is held in memory, in bytes; 413 past it. A body without `content-type` counts as JSON.
    pub json_body: Option<u64>,
    /// The number of values in a request body with JSON that is held in memory; 413 past it.
    pub json_values: Option<usize>,
    /// The longest request body that is read chunk by chunk, in bytes; 413 past it.
    pub stream_body: Option<u64>,
    /// The size of all header names and values together, in bytes; 431 past it.
    pub headers: Option<usize>,
}

/// How a handler ended.
#[derive(Debug)]
pub enum Outcome {
    /// Its value is the reply (spec H5).
    Reply(Response<Body>),
    /// The reply was sent, or is left to the holder of the context (spec H6).
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
/// | [`Failure`] | its status and headers, with the body `{"message": …}` and its details |
/// | `http::Response<Body>` | itself |
/// | [`Context`], `()` | none: the holder of the context replies |
pub trait IntoReply {
    /// Turns the value into the outcome of a handler.
    fn into_reply(self) -> Outcome;
}

/// A value to be sent as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

const TEXT: &str = "text/plain; charset=utf-8";
const BYTES: &str = "application/octet-stream";

fn with_content(content_type: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    response
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// The reply for an error: `{"message": …}`, the one shape that all of Pointwork's own errors have.
pub fn error_reply(status: StatusCode, message: &str) -> Response<Body> {
    error_with(status, message, None)
}

fn error_with(status: StatusCode, message: &str, details: Option<&Map<String, Value>>) -> Response<Body> {
    #[derive(Serialize)]
    struct Error<'a> {
        message: &'a str,
        #[serde(flatten)]
        details: Option<&'a Map<String, Value>>,
    }
    // A string and a JSON object always have a JSON form.
    let body = serde_json::to_vec(&Error { message, details }).unwrap_or_default();
    let mut response = with_content(JSON, body);
    *response.status_mut() = status;
    response
}

/// The client's reply for a failure (spec H4). If the code of the failure is internal, the client gets 500 without any detail.
///
/// The end of the request counts and logs the failure.
pub fn failure_reply(failure: &Failure) -> Response<Body> {
    if failure.is_hidden() {
        let mut response = error_reply(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL_ERROR);
        response.extensions_mut().insert(FailedRequest::of(failure));
        return response;
    }
    let mut response = error_with(failure.status(), failure.message_for_client(), failure.details());
    response.extensions_mut().insert(FailedRequest::of(failure));
    let headers = response.headers_mut();
    if failure.headers().contains_key(CONTENT_TYPE) {
        headers.remove(CONTENT_TYPE);
    }
    for (name, value) in failure.headers() {
        // A failure has as many headers as fit, and the type of the content may be one too many.
        let _ = headers.try_append(name, value.clone());
    }
    response
}

macro_rules! into_reply {
    ($($value:ty => $outcome:expr;)*) => {$(
        impl IntoReply for $value {
            fn into_reply(self) -> Outcome {
                $outcome(self)
            }
        }
    )*};
}

into_reply! {
    Outcome => identity;
    Response<Body> => Outcome::Reply;
    &'static str => |text| Outcome::Reply(with_content(TEXT, text));
    String => |text| Outcome::Reply(with_content(TEXT, text));
    Bytes => |bytes| Outcome::Reply(with_content(BYTES, bytes));
    Vec<u8> => |bytes| Outcome::Reply(with_content(BYTES, bytes));
    Value => |value| Json(value).into_reply();
    Failure => |failure: Failure| Outcome::Reply(failure_reply(&failure));
    StatusCode => |status| (status, Response::new(Body::empty())).into_reply();
    Context => |_| Outcome::Deferred;
    &Context => |_| Outcome::Deferred;
    () => |()| Outcome::Deferred;
}

impl<T: Serialize> IntoReply for Json<T> {
    fn into_reply(self) -> Outcome {
        match serde_json::to_vec(&self.0) {
            Ok(body) => Outcome::Reply(with_content(JSON, body)),
            Err(error) => {
                let message = format!("the reply cannot be written as JSON: {error}");
                Failure::new(StatusCode::INTERNAL_SERVER_ERROR, message).into_reply()
            }
        }
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
            None => Failure::new(StatusCode::NOT_FOUND, "Not Found").into_reply(),
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

/// Refuses a status that cannot be that of a reply: an informational or an undefined one.
pub(crate) fn check_reply(response: &Response<Body>) -> Result<(), Failure> {
    let checked = check_status(response.status().as_u16());
    checked.map_err(|message| Failure::of(FailureCode::INVALID_REPLY, message))
}
