//! One request, as a handler sees it.

use std::fmt;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, Method, Response, StatusCode, Uri};
use pointwork_events::{Event, IoEvent};
use serde::de::DeserializeOwned;

use crate::events::registry::Caller;
use crate::exchange::body::{BodyReader, BodyWriter, read_all};
use crate::exchange::reply::{IntoReply, Outcome};
use crate::exchange::reply_cell::ReplyCell;
use crate::routing::Params;
use crate::{Body, Crash, Failure, FailureCode, Payload, RequestId, RouteRecord};

/// One request that waits for its reply.
///
/// The router makes it when a route has matched, so its [`params`](Self::params) are full before the handler runs; a
/// middleware that saw the request earlier saw none (spec H2). Clones are further holders of the same request. When the
/// last holder is dropped and nobody replied, the client gets 500 at once (spec H7).
#[derive(Clone)]
pub struct Context(Arc<Exchange>);

struct Exchange {
    _counted: Counted,
    slot: Arc<ReplyCell>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    params: Params,
    route: Arc<RouteRecord>,
    caller: Caller,
    request_id: RequestId,
    body: Mutex<Option<Body>>,
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.slot.abandon();
    }
}

/// Named values that travel with a request into its log lines (spec H9).
///
/// A middleware puts one into the request's [`http::Extensions`] to set values before the handler runs; handlers reach
/// the same values with [`Context::extension`] and [`Context::set_extension`].
#[derive(Clone, Debug, Default)]
pub struct Extensions(Arc<Mutex<Vec<(String, String)>>>);

impl Extensions {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<String> {
        let values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        values
            .iter()
            .find(|(known, _)| known == key)
            .map(|(_, value)| value.clone())
    }

    /// Sets a key; the last value counts.
    pub fn set(&self, key: &str, value: impl Into<String>) {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match values.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value.into(),
            None => values.push((key.to_owned(), value.into())),
        }
    }

    /// All values, as `key=value` separated by spaces, in the order set; for a log line.
    pub(crate) fn to_line(&self) -> String {
        let values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        values
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// Counts a request for as long as somebody holds its context.
pub(crate) struct Counted(Arc<AtomicUsize>);

impl Counted {
    pub(crate) fn new(requests: Arc<AtomicUsize>) -> Self {
        requests.fetch_add(1, Ordering::Relaxed);
        Self(requests)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What the router knows of a request when its route has matched.
pub(crate) struct Arrived {
    pub(crate) counted: Counted,
    pub(crate) parts: Parts,
    pub(crate) body: Body,
    pub(crate) params: Params,
    pub(crate) route: Arc<RouteRecord>,
    pub(crate) caller: Caller,
    pub(crate) request_id: RequestId,
    pub(crate) slot: Arc<ReplyCell>,
}

impl Context {
    pub(crate) fn new(arrived: Arrived) -> Self {
        let Arrived {
            counted,
            parts,
            body,
            params,
            route,
            caller,
            request_id,
            slot,
        } = arrived;
        Self(Arc::new(Exchange {
            _counted: counted,
            slot,
            method: parts.method,
            uri: parts.uri,
            headers: parts.headers,
            params,
            route,
            caller,
            request_id,
            body: Mutex::new(Some(body)),
        }))
    }

    /// The method as the client sent it.
    pub fn method(&self) -> &Method {
        &self.0.method
    }

    /// The path as the client sent it: percent-escapes and a global prefix included, the query not (spec G5).
    pub fn path(&self) -> &str {
        self.0.uri.path()
    }

    /// The query as the client sent it, without the `?`.
    pub fn query(&self) -> Option<&str> {
        self.0.uri.query()
    }

    /// The request's headers.
    pub fn headers(&self) -> &HeaderMap {
        &self.0.headers
    }

    /// A path parameter, percent-decoded (spec P4, P8).
    pub fn param(&self, name: &str) -> Option<&str> {
        self.0.params.get(name)
    }

    /// All path parameters, in the order of the pattern.
    pub fn params(&self) -> &Params {
        &self.0.params
    }

    /// The route that matched.
    pub fn route(&self) -> &RouteRecord {
        &self.0.route
    }

    /// The id under which the request stands in every log line.
    pub fn request_id(&self) -> &RequestId {
        &self.0.request_id
    }

    /// A request extension by its key.
    pub fn extension(&self, key: &str) -> Option<String> {
        self.0.slot.extensions()?.get(key)
    }

    /// Sets a request extension; it stands in the request's closing log line.
    pub fn set_extension(&self, key: &str, value: impl Into<String>) {
        self.0.slot.extensions_mut().set(key, value);
    }

    /// The door to events, to be kept beyond the context. It does not hold the request.
    pub fn caller(&self) -> &Caller {
        &self.0.caller
    }

    /// The whole request body. It can be taken once, either whole or as a reader.
    ///
    /// # Errors
    /// [`GONE`](FailureCode::GONE) if it was taken or the client broke it off, [`TOO_LARGE`](FailureCode::TOO_LARGE)
    /// past the limit.
    ///
    /// # Cancel safety
    /// Not cancel safe: a body that was begun is lost.
    pub async fn bytes(&self) -> Result<Bytes, Failure> {
        read_all(self.take_body()?).await
    }

    /// The request body as JSON of a type.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes), and [`BAD_PAYLOAD`](FailureCode::BAD_PAYLOAD), a 400 that says line and column.
    ///
    /// # Cancel safety
    /// As [`bytes`](Self::bytes).
    pub async fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let bytes = self.bytes().await?;
        serde_json::from_slice(&bytes)
            .map_err(|error| Failure::bad_payload(format!("the body is not the JSON that was expected: {error}")))
    }

    /// The request body piece by piece.
    ///
    /// # Errors
    /// [`GONE`](FailureCode::GONE) if it was taken before.
    pub fn open_body(&self) -> Result<BodyReader, Failure> {
        self.take_body().map(BodyReader::new)
    }

    fn take_body(&self) -> Result<Body, Failure> {
        let body = self.0.body.lock().unwrap_or_else(PoisonError::into_inner).take();
        body.ok_or_else(|| Failure::internal(FailureCode::GONE, "the request body was taken before"))
    }

    /// Calls an event by its type; see [`Caller::call`].
    ///
    /// # Errors
    /// As [`Caller::call`].
    ///
    /// # Cancel safety
    /// Cancelling cancels the listener.
    pub async fn call<E: IoEvent>(&self, payload: &E::Payload) -> Result<E::Output, Failure> {
        self.caller().call::<E>(payload).await
    }

    /// Calls an event by its name; see [`Caller::call_raw`].
    ///
    /// # Errors
    /// As [`Caller::call_raw`].
    ///
    /// # Cancel safety
    /// Cancelling cancels the listener.
    pub async fn call_raw(&self, event: &str, payload: Payload) -> Result<Payload, Failure> {
        self.caller().call_raw(event, payload).await
    }

    /// Emits an event by its type and returns the context at once (spec H3).
    pub fn emit<E: Event>(&self, payload: &E::Payload) -> &Self {
        self.caller().emit::<E>(payload);
        self
    }

    /// Emits an event by its name and returns the context at once (spec H3).
    pub fn emit_raw(&self, event: &str, payload: Payload) -> &Self {
        self.caller().emit_raw(event, payload);
        self
    }

    /// Gives the context to the listener of `event`, which replies in this one's stead (spec H6).
    ///
    /// # Errors
    /// As an emit would log it: an unknown event, a full queue. The context is dropped then, and the client gets 500
    /// unless another holder is left.
    pub fn hand_over(self, event: &str, payload: Payload) -> Result<(), Failure> {
        let caller = self.caller().clone();
        caller.bus.upgrade()?.emit(&caller, event, payload, Some(self))
    }

    /// Completes when nobody waits for the reply any more: the client went away, or the deadline passed. For a
    /// request that has its reply it completes no sooner than the last holder of the context is gone.
    ///
    /// A native handler need not ask, since its future is dropped then; whoever was handed the context may want to.
    ///
    /// # Cancel safety
    /// Cancel safe. The future does not hold the request.
    pub fn gone(&self) -> impl Future<Output = ()> + Send + use<> {
        self.0.slot.closed()
    }

    /// Ends the request, unless it has its reply: the client gets what belongs to the crash, which is reported. For a
    /// host that finds that the request's handler breaks a rule.
    pub fn crash(&self, crash: Crash) {
        self.0.slot.crash(crash);
    }

    /// Replies (spec H4).
    ///
    /// # Errors
    /// [`ALREADY_REPLIED`](FailureCode::ALREADY_REPLIED) for a second reply, which changes nothing (spec H7);
    /// [`INVALID_REPLY`](FailureCode::INVALID_REPLY) for a status outside 200 to 599 or a value that is no reply;
    /// [`GONE`](FailureCode::GONE) when the client went away.
    pub fn send(&self, reply: impl IntoReply) -> Result<(), Failure> {
        match reply.into_reply() {
            Outcome::Reply(response) => self.fill(response),
            Outcome::Deferred | Outcome::Crashed(_) => Err(Failure::internal(
                FailureCode::INVALID_REPLY,
                "the value is no reply; send text, JSON or bytes",
            )),
        }
    }

    /// Ends the request with an error: the status and the body `{"message": …}` (spec H4).
    ///
    /// A second reply is refused and logged. The result is what the handler returns.
    pub fn throw(&self, status: StatusCode, message: impl Into<String>) -> Outcome {
        if let Err(failure) = self.send(Failure::new(status, message)) {
            tracing::error!(request_id = %self.request_id(), "the error was not sent: {failure}");
        }
        Outcome::Deferred
    }

    /// Replies with the head now and the body piece by piece.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn open_reply(&self, head: Response<()>) -> Result<BodyWriter, Failure> {
        let (writer, body) = Body::channel();
        self.fill(head.map(|()| body))?;
        Ok(writer)
    }

    fn fill(&self, response: Response<Body>) -> Result<(), Failure> {
        check_reply(&response)?;
        self.0.slot.fill(response)
    }
}

/// Refuses what cannot be a reply: a status that is informational, or that nobody has defined.
pub(crate) fn check_reply(response: &Response<Body>) -> Result<(), Failure> {
    let status = response.status().as_u16();
    if (200..=599).contains(&status) {
        return Ok(());
    }
    let message = format!("{status} cannot be the status of a reply; expected 200 to 599");
    Err(Failure::internal(FailureCode::INVALID_REPLY, message))
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("method", self.method())
            .field("path", &self.path())
            .field("request_id", &format_args!("{}", self.request_id()))
            .finish_non_exhaustive()
    }
}
