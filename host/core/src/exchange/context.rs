//! One request, as its handler sees it.

use std::future::Future;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderMap, Method, Response, StatusCode, Version};
use pointwork_events::{Event, EventData as _, IoEvent};
use serde::de::DeserializeOwned;
use tracing::Span;

use super::body::BodyWriter;
use super::body_reader::BodyReader;
use super::handler::{BodyMode, IntoReply, Outcome, check_reply, failure_reply};
use super::state::{Audience, Exchange, OngoingCall, OpenedReply};
use crate::events::caller::{Caller, Delivery, HandedOver};
use crate::routing::{Params, RouteRecord};
use crate::{Body, Charge, Crash, CrashKind, Failure, FailureCode, Payload, RequestId};

/// One request that waits for its reply.
///
/// The router makes it when a route has matched, so its [`params`](Self::params) are full before the handler runs; a
/// middleware that saw the request earlier saw none (spec H2). Clones are further holders of the same request. When the
/// last holder is dropped and nobody replied, the client gets 500 at once (spec H7).
#[derive(derive_more::Debug)]
#[debug("Context({} {}, {})", self.method(), self.path(), self.request_id())]
pub struct Context {
    exchange: Arc<Exchange>,
    /// In a listener that took the context: calls and emits with the chain of the delivery.
    caller: Option<Arc<Caller>>,
}

impl Clone for Context {
    fn clone(&self) -> Self {
        self.exchange.add_holder();
        Self {
            exchange: self.exchange.clone(),
            caller: self.caller.clone(),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.exchange.remove_holder();
    }
}

impl Context {
    /// The first holder of an exchange.
    pub(crate) fn first(exchange: &Arc<Exchange>) -> Self {
        Self {
            exchange: exchange.clone(),
            caller: None,
        }
    }

    /// The method as the client sent it.
    pub fn method(&self) -> &Method {
        &self.exchange.method
    }

    /// The path as the client sent it: percent-escapes and a global prefix included, the query not (spec G5).
    pub fn path(&self) -> &str {
        self.exchange.uri.path()
    }

    /// The query as the client sent it, without the `?`.
    pub fn query(&self) -> Option<&str> {
        self.exchange.uri.query()
    }

    /// The request's headers. `Host` is the authority of the target, if that has one (RFC 9112, section 3.2.2).
    pub fn headers(&self) -> &HeaderMap {
        &self.exchange.headers
    }

    /// The version of HTTP that the client spoke (spec H9).
    pub fn http_version(&self) -> Version {
        self.exchange.version
    }

    /// `http` or `https`: that of the connection, or what a trusted proxy reports; see [`Peer`](crate::Peer) (spec H9).
    pub fn scheme(&self) -> &str {
        self.exchange.client().scheme()
    }

    /// The authority that the client addressed: that of the target (`:authority` in HTTP/2), otherwise the header `Host`;
    /// `None` if it sent none (spec H9).
    pub fn authority(&self) -> Option<&str> {
        self.exchange.headers.get(HOST)?.to_str().ok()
    }

    /// The client as `address:port`, or `[address]:port` for IPv6: the peer, or what trusted proxies report, without a port if
    /// they report none; see [`Peer`](crate::Peer) (spec H9). `None` if it is not known.
    pub fn remote_address(&self) -> Option<String> {
        self.exchange.client().address()
    }

    /// When the router got the head of the request (spec H9).
    pub fn received_at(&self) -> SystemTime {
        self.exchange.received_at()
    }

    /// The same time by the clock that measures durations.
    pub fn arrived(&self) -> Instant {
        self.exchange.arrived
    }

    /// When the request ends without a reply, with 504; `None` if never (spec H9).
    pub fn deadline(&self) -> Option<Instant> {
        self.exchange.caller.deadline()
    }

    /// Whether a reply would be in vain: the client went away, or the deadline passed, before there was one (spec H9).
    ///
    /// To wait for it, see [`gone`](Self::gone).
    pub fn is_cancelled(&self) -> bool {
        let is_late = || {
            self.deadline()
                .is_some_and(|deadline| deadline <= self.exchange.caller.clock().now())
        };
        self.exchange.reply.is_closed() || (is_late() && !self.exchange.reply.has_reply())
    }

    /// The audience of the reply: the client.
    pub fn audience(&self) -> Audience {
        Audience::of_request(&self.exchange)
    }

    /// Whether the request has neither its reply nor another end: a holder of the context may still reply.
    pub fn awaits_reply(&self) -> bool {
        self.exchange.reply.is_awaited()
    }

    /// How the handler of the route takes the request body.
    pub fn body_mode(&self) -> BodyMode {
        self.exchange.body_mode
    }

    /// The length of the body that has arrived whole and waits in memory, in bytes: 0 if it is taken or comes chunk by chunk.
    pub fn body_in_memory(&self) -> usize {
        self.exchange.body_in_memory()
    }

    /// A path parameter, percent-decoded (spec P4, P8).
    pub fn param(&self, name: &str) -> Option<&str> {
        self.exchange.params.get(name)
    }

    /// All path parameters, in the order of the pattern.
    pub fn params(&self) -> &Params {
        &self.exchange.params
    }

    /// The route that matched.
    pub fn route(&self) -> &RouteRecord {
        &self.exchange.origin().route
    }

    /// The id under which the request stands in every log line.
    pub fn request_id(&self) -> &RequestId {
        &self.exchange.origin().id
    }

    /// A span for the handler's own log lines, which names the request; see [`Caller::span`].
    ///
    /// ```
    /// use pointwork_core::Context;
    ///
    /// async fn show(ctx: Context) -> &'static str {
    ///     tracing::info!(parent: &ctx.span(), "looked up");
    ///     "tea"
    /// }
    /// ```
    pub fn span(&self) -> Span {
        if self.exchange.span.is_none() {
            self.caller().span()
        } else {
            self.exchange.span.clone()
        }
    }

    /// A request extension by its key.
    pub fn extension(&self, key: &str) -> Option<String> {
        self.exchange.extensions.get()?.get(key)
    }

    /// Sets a request extension; it stands in the request's closing log line.
    pub fn set_extension(&self, key: &str, value: impl Into<String>) {
        self.exchange.extensions.get_or_init(Default::default).set(key, value);
    }

    /// The same for a value that is counted: the charge is kept until the request's state is dropped, or the key is set
    /// again.
    pub fn set_extension_charged(&self, key: &str, value: impl Into<String>, charge: Charge) {
        let extensions = self.exchange.extensions.get_or_init(Default::default);
        extensions.set_charged(key, value, charge);
    }

    /// Calls and emits events, also after the context is gone: it does not hold the request.
    ///
    /// In a listener that took the context, the caller goes on with the chain of the delivery: its depth counts, and the
    /// earlier one of the two deadlines.
    pub fn caller(&self) -> &Caller {
        self.caller.as_deref().unwrap_or(&self.exchange.caller)
    }

    /// The whole request body. It can be taken once, either whole or as a reader.
    ///
    /// On a route of a module, a body that nobody took is dropped when the request has its reply or another end, and the handler
    /// and all listeners that got the context have ended. A listener's task that goes on with the context takes the body before.
    ///
    /// # Errors
    /// [`GONE`](FailureCode::GONE) if it was taken or dropped, the handler takes none, or the client broke it off;
    /// [`TOO_LARGE`](FailureCode::TOO_LARGE) past [`RouterOptions::body_limit`](crate::RouterOptions::body_limit), however the
    /// handler takes the body.
    ///
    /// # Cancel safety
    /// Not cancel safe: a body that was begun is lost.
    pub async fn bytes(&self) -> Result<Bytes, Failure> {
        let is_checked = self.body_mode() == BodyMode::Whole;
        self.open_body()?.read_all(is_checked).await
    }

    /// The whole request body as text.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes), and [`BAD_PAYLOAD`](FailureCode::BAD_PAYLOAD), a 400, if it is not UTF-8.
    ///
    /// # Cancel safety
    /// As [`bytes`](Self::bytes).
    pub async fn text(&self) -> Result<String, Failure> {
        let bytes = self.bytes().await?;
        String::from_utf8(bytes.into()).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failure::bad_payload(format!("the body is not UTF-8 from byte {at} on"))
        })
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

    /// The request body chunk by chunk, up to
    /// [`RouterOptions::stream_body_limit`](crate::RouterOptions::stream_body_limit).
    ///
    /// # Errors
    /// [`GONE`](FailureCode::GONE) if it was taken before or dropped, as [`bytes`](Self::bytes) says, or the handler takes none.
    pub fn open_body(&self) -> Result<BodyReader, Failure> {
        let exchange = &self.exchange;
        let body = exchange.take_body().ok_or_else(|| {
            let message = match exchange.body_mode {
                BodyMode::None => "the handler declares that it takes no request body",
                BodyMode::Whole | BodyMode::Stream => "the request body was taken before, or its request has ended",
            };
            Failure::of(FailureCode::GONE, message)
        })?;
        Ok(BodyReader::new(body, exchange.body_limits, exchange.caller.clone()))
    }

    /// Calls an event by its type, as [`Caller::call`], with the same errors and cancel safety.
    pub async fn call<E: IoEvent>(&self, payload: E::Payload) -> Result<E::Output, Failure> {
        self.caller().call::<E>(payload).await
    }

    /// Calls an event by its name, as [`Caller::call_raw`], with the same errors and cancel safety.
    pub async fn call_raw(&self, event: &str, payload: Payload) -> Result<Payload, Failure> {
        self.caller().call_raw(event, payload).await
    }

    /// Emits an event by its type and returns the context at once (spec H3).
    pub fn emit<E: Event>(&self, payload: E::Payload) -> &Self {
        self.caller().emit::<E>(payload);
        self
    }

    /// Emits an event by its name and returns the context at once (spec H3).
    pub fn emit_raw(&self, event: &str, payload: Payload) -> &Self {
        self.caller().emit_raw(event, payload);
        self
    }

    /// Gives the context to the listener of an event, which then replies (spec H6). The handler returns the result.
    ///
    /// ```
    /// use pointwork_core::{Context, Failure, events::events};
    ///
    /// events! { pub Send = "response:send": String; }
    ///
    /// async fn greet(ctx: Context) -> Result<(), Failure> {
    ///     ctx.hand_over::<Send>("hello".into())
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`hand_over_raw`](Self::hand_over_raw), and a payload that cannot be written as JSON.
    pub fn hand_over<E: Event>(self, payload: E::Payload) -> Result<(), Failure> {
        self.hand_over_raw(E::NAME, payload.into_payload()?)
    }

    /// Gives the context to the listener of an event by its name, which then replies (spec H6).
    ///
    /// # Errors
    /// As an emit would log it: an unknown event, a full queue, a chain that is too deep. The context is dropped then, and the
    /// client gets 500 unless the handler returns the error, or another holder is left.
    pub fn hand_over_raw(self, event: &str, payload: Payload) -> Result<(), Failure> {
        self.hand_over_charged(event, payload, Charge::default())
    }

    /// The same for a payload that is counted: the charge is kept until the listener has ended.
    ///
    /// # Errors
    /// As [`hand_over_raw`](Self::hand_over_raw).
    pub fn hand_over_charged(self, event: &str, payload: Payload, charge: Charge) -> Result<(), Failure> {
        let caller = self.caller().clone();
        let handed_over = HandedOver {
            until_the_end: Box::new(OngoingCall::begin(self.exchange.clone())),
            value: Box::new(HandedContext {
                context: Some(self),
                waits: false,
            }),
        };
        let result = caller.try_emit(event, payload, Some(handed_over), charge);
        result.map_err(|failure| {
            // The guest gets the error, and its author has to see the ring. The end of a request writes no line for a full queue.
            let is_logged = [FailureCode::TOO_DEEP, FailureCode::OVERLOADED].contains(failure.code());
            if is_logged {
                caller.log_refused("the context was not handed over", event, &failure);
                return failure.reported();
            }
            failure
        })
    }

    /// The same context in the chain of the call that runs, if that is deeper; see [`Caller::deeper`].
    #[must_use]
    pub fn in_call(mut self, running: Option<&Caller>) -> Self {
        let caller = self.caller().deeper(running);
        if caller.chain.depth() > self.caller().chain.depth() {
            self.caller = Some(Arc::new(caller.until(self.deadline())));
        }
        self
    }

    /// Completes when nobody waits for the reply any more: the client went away, or the deadline passed. For a
    /// request that has its reply it completes no sooner than the last holder of the context is gone.
    ///
    /// A native handler does not need it, since its future is dropped then; a listener that was handed the context may.
    ///
    /// # Cancel safety
    /// Cancel safe. The future does not hold the request.
    pub fn gone(&self) -> impl Future<Output = ()> + Send + use<> {
        self.exchange.reply.closed()
    }

    /// Ends the request, unless it has its reply: the client gets the status of the crash, which is reported. For a
    /// host that finds that the request's handler breaks a rule.
    pub fn crash(&self, crash: Crash) {
        self.exchange.reply.crash(crash);
    }

    /// Replies (spec H4).
    ///
    /// # Errors
    /// [`ALREADY_REPLIED`](FailureCode::ALREADY_REPLIED) for a second reply, which changes nothing (spec H7);
    /// [`INVALID_REPLY`](FailureCode::INVALID_REPLY) for a status outside 200 to 599 or a value that cannot be a reply;
    /// [`GONE`](FailureCode::GONE) when the client went away.
    pub fn send(&self, reply: impl IntoReply) -> Result<(), Failure> {
        match reply.into_reply() {
            Outcome::Reply(response) => self.fill(response),
            Outcome::Deferred | Outcome::Crashed(_) => Err(Failure::of(
                FailureCode::INVALID_REPLY,
                "the value is not a reply; send text, JSON or bytes",
            )),
        }
    }

    /// The error that ends the request when the handler returns it: the client gets the status and the body
    /// `{"message": …}` (spec H4). Headers and further fields can be added to it.
    ///
    /// ```
    /// use pointwork_core::http::StatusCode;
    /// use pointwork_core::{Context, Failure};
    ///
    /// async fn show(ctx: Context) -> Result<String, Failure> {
    ///     match ctx.param("id") {
    ///         Some("1") => Ok("tea".into()),
    ///         _ => Err(ctx.throw(StatusCode::NOT_FOUND, "no such product").detail("known", 1)),
    ///     }
    /// }
    /// ```
    pub fn throw(&self, status: StatusCode, message: impl Into<String>) -> Failure {
        Failure::new(status, message)
    }

    /// Replies with the head now and the body chunk by chunk.
    ///
    /// A handler that returns a reply all the same breaks this one off, unless it is finished.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub fn open_reply(&self, head: Response<()>) -> Result<BodyWriter, Failure> {
        let (writer, body) = Body::channel();
        self.fill(head.map(|()| body))?;
        // There is one reply, so the cell is empty.
        let _ = self.exchange.open_reply.set(OpenedReply {
            body: writer.breaker(),
            by_handler: self.caller.is_none(),
        });
        Ok(writer)
    }

    fn fill(&self, response: Response<Body>) -> Result<(), Failure> {
        check_reply(&response)?;
        self.exchange.reply.fill(response)
    }
}

impl Delivery {
    /// Takes the context that was handed over with the event (spec H6); `None` if there was none or it was taken.
    pub fn take_context(&mut self) -> Option<Context> {
        let mut handed: Box<HandedContext> = self.handed_over.take()?.downcast().ok()?;
        let mut context = handed.context.take()?;
        context.caller = Some(Arc::new(self.caller.until(context.deadline())));
        Some(context)
    }

    /// The audience of the result: the caller, or the client whose context was handed over.
    pub fn audience(&self) -> Audience {
        let handed = self
            .handed_over
            .as_ref()
            .and_then(|value| value.downcast_ref::<HandedContext>());
        match handed.and_then(|handed| handed.context.as_ref()) {
            Some(context) => context.audience(),
            None => Audience::of_call(self.caller.chain()),
        }
    }

    /// Sets whether the listener waits for room. If the event is dropped while its listener waits, the client whose context was
    /// handed over with the event gets 503 (spec H6).
    pub fn set_waiting(&mut self, waits: bool) {
        let value = self.handed_over.as_mut();
        if let Some(handed) = value.and_then(|value| value.downcast_mut::<HandedContext>()) {
            handed.waits = waits;
        }
    }
}

/// A context on its way to a listener.
struct HandedContext {
    context: Option<Context>,
    waits: bool,
}

impl Drop for HandedContext {
    fn drop(&mut self) {
        let Some(context) = self.context.as_ref().filter(|_| self.waits) else {
            return;
        };
        // Another holder may reply.
        if context.exchange.is_last_holder() {
            let crash = Crash::new(CrashKind::Limit, "the listener has no room");
            let _ = context.exchange.reply.fill(failure_reply(&Failure::for_client(&crash)));
        }
    }
}
