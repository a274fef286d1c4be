//! Both ends of an event: who calls or emits it, and who listens.

use std::any::Any;
use std::fmt::Display;
use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use pointwork_events::{Event, EventData as _, IoEvent};
use tracing::Span;

use super::Payload;
use super::bursts::MAX_CRASH_LINE;
use super::bus::WeakBus;
use super::chain::{Chain, Nested};
use super::registry::ListenerNames;
use crate::request_id::EventId;
use crate::routing::{excerpt, paragraph};
use crate::{BoxFuture, Charge, Clock, Crash, Failure, FailureCode, RequestId};

/// Calls and emits events within one chain. [`Context`](crate::Context) and [`Delivery`] each have one.
///
/// It keeps neither the request nor the application: when the application is gone, calls fail with
/// [`GONE`](FailureCode::GONE).
#[derive(Clone, Debug)]
pub struct Caller {
    pub(crate) bus: WeakBus,
    pub(crate) chain: Chain,
}

impl Caller {
    /// When whatever runs in this chain is cancelled; `None` if never.
    pub fn deadline(&self) -> Option<Instant> {
        self.chain.deadline()
    }

    /// The clock of the application. A native listener that waits uses this clock, so that tests can control the wait.
    pub fn clock(&self) -> Clock {
        self.bus.clock()
    }

    /// The longest payload or result of an event, in bytes (spec H8). A native listener stops there while it collects a result.
    pub fn payload_limit(&self) -> usize {
        self.bus.payload_limit()
    }

    /// The calls that led here.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// This caller, or another one whose call is deeper in its chain. A guest may use a handle of an earlier call; the events
    /// that it emits count from the call that runs, so that they cannot go in a circle without end.
    pub fn deeper<'a>(&'a self, running: Option<&'a Self>) -> &'a Self {
        running
            .filter(|running| running.chain.depth() > self.chain.depth())
            .unwrap_or(self)
    }

    /// The same caller within that many requests and calls; see [`Nested`].
    #[must_use]
    pub fn nested(mut self, nested: Nested) -> Self {
        self.chain.nested = nested;
        self
    }

    /// The same caller with the earlier deadline of the two.
    pub(crate) fn until(&self, deadline: Option<Instant>) -> Self {
        let mut caller = self.clone();
        caller.chain.deadline = [deadline, self.deadline()].into_iter().flatten().min();
        caller
    }

    /// The id of the request that began the chain, if a request did.
    pub fn request_id(&self) -> Option<&RequestId> {
        self.chain.request_id()
    }

    /// The `traceparent` of the request that began the chain, if it had one (W3C Trace Context). It is kept where an event leaves the
    /// process: with a durable channel, or one elsewhere.
    pub fn traceparent(&self) -> Option<String> {
        let traceparent = self.chain.traceparent()?.to_str().ok()?;
        Some(traceparent.to_owned())
    }

    /// A span for log lines of whatever runs in this chain: it names the request that began the chain, and its route.
    ///
    /// A span costs more than most requests, so it is made where a line is written, not beforehand. It is
    /// [none](Span::none) where a span of the request or of the event is entered already (the access log,
    /// [`RouterOptions::access_log`](field@crate::RouterOptions::access_log), or an emitted event), and without a request.
    pub fn span(&self) -> Span {
        // The level is that of the rarest line: a filter that drops the span would drop the names from the line.
        self.chain.request_without_span().map_or_else(Span::none, |request| {
            tracing::error_span!(
                "request",
                request_id = %request.id,
                method = request.route.method,
                route = request.route.path,
                module = request.route.module,
                controller = request.route.controller,
                handler = request.route.handler,
            )
        })
    }

    /// Reports a crash as `server:crashed`, with the request that began the chain (spec E1). When the application is
    /// gone it is only logged.
    pub fn report(&self, mut crash: Crash) {
        if let Some(request) = self.chain.request.as_ref().filter(|_| self.chain.depth() == 0) {
            // The caller is the request's own, so the crash is its handler's.
            crash.module = crash.module.or_else(|| request.route.module.clone());
        }
        match self.bus.upgrade() {
            Ok(bus) => bus.report_in(&self.chain, self.chain.event(), crash),
            Err(_) => tracing::error!(
                module = crash.module,
                limit = crash.limit,
                "{}",
                paragraph(&crash.message, MAX_CRASH_LINE)
            ),
        }
    }

    /// Keeps an error that a module logged, for a reply that shows the crashes of its request: the client of a failed call
    /// gets a general sentence, and the log has the reason.
    pub fn show_error(&self, module: &str, message: impl Display) {
        let crashes = self.chain.request.as_ref().and_then(|request| request.crashes.as_ref());
        if let Some(crashes) = crashes {
            crashes.add_error(self.chain.event(), module, &message.to_string());
        }
    }

    /// Calls an event by its type and waits for the result (spec H3, H8).
    ///
    /// # Errors
    /// As [`call_raw`](Self::call_raw), and [`BAD_PAYLOAD`](FailureCode::BAD_PAYLOAD) when the listener's result is not of
    /// the event's output type.
    ///
    /// # Cancel safety
    /// Cancelling cancels the listener.
    pub async fn call<E: IoEvent>(&self, payload: E::Payload) -> Result<E::Output, Failure> {
        let payload = payload
            .into_payload()
            .map_err(|error| Failure::from(error).after_call(E::NAME))?;
        let result = self.call_raw(E::NAME, payload).await?;
        E::Output::from_payload(result).map_err(|error| {
            let message = format!("the result of `{}` does not fit: {error}", E::NAME);
            Failure::of(FailureCode::BAD_PAYLOAD, message).after_call(E::NAME)
        })
    }

    /// Calls an event by its name and waits for the result.
    ///
    /// # Errors
    /// The listener's own failure; or [`UNKNOWN_EVENT`](FailureCode::UNKNOWN_EVENT) with the nearest known name
    /// (spec C4), [`AMBIGUOUS_EVENT`](FailureCode::AMBIGUOUS_EVENT) (spec C2), [`TOO_DEEP`](FailureCode::TOO_DEEP),
    /// [`TOO_LARGE`](FailureCode::TOO_LARGE) for a payload or a result over
    /// [`payload_limit`](crate::BusOptions::payload_limit), [`BAD_PAYLOAD`](FailureCode::BAD_PAYLOAD) for a payload that the listener
    /// cannot read, or [`FAILED`](FailureCode::FAILED) when the listener crashed,
    /// which is reported as `server:crashed` as well (spec E1).
    ///
    /// # Cancel safety
    /// Cancelling cancels the listener.
    pub async fn call_raw(&self, event: &str, payload: Payload) -> Result<Payload, Failure> {
        let result = self.bus.upgrade()?.call(self, event, payload).await;
        result.map_err(|failure| failure.after_call(event))
    }

    /// Emits an event by its type; see [`emit_raw`](Self::emit_raw).
    pub fn emit<E: Event>(&self, payload: E::Payload) -> &Self {
        match payload.into_payload() {
            Ok(payload) => self.emit_raw(E::NAME, payload),
            Err(error) => {
                tracing::error!(event = E::NAME, "the event was not emitted: {error}");
                self
            }
        }
    }

    /// Puts an event into its listener's queue and returns at once. An unknown event or a full queue is logged and
    /// counted, never an error to the emitter (spec H3, C4). Of a burst the first one is logged, and then their number. An event
    /// of a durable channel goes to the channel's store instead (spec N1).
    pub fn emit_raw(&self, event: &str, payload: Payload) -> &Self {
        self.emit_charged(event, payload, Charge::default())
    }

    /// The same for a payload that is counted: the charge is kept until the listener has ended.
    pub fn emit_charged(&self, event: &str, payload: Payload, charge: Charge) -> &Self {
        if let Err(failure) = self.try_emit(event, payload, None, charge) {
            self.bus.count_failure(failure.code(), failure.fault_of_event());
            self.log_refused("the event was not emitted", event, &failure);
        }
        self
    }

    /// Logs that an event was refused. Of a burst the first one is logged, and then their number.
    pub(crate) fn log_refused(&self, what: &str, event: &str, failure: &Failure) {
        let module = self.chain.module();
        // An unknown name may be any text of a guest; each other one is the name of a listener.
        let is_unknown = *failure.code() == FailureCode::UNKNOWN_EVENT;
        let of = if is_unknown { module.unwrap_or_default() } else { event };
        if self.bus.begins_burst(failure.code().as_str(), of) {
            tracing::error!(
                module,
                event = %excerpt(event),
                request_id = self.request_id().map(tracing::field::display),
                "{what}: {failure}"
            );
        }
    }

    pub(crate) fn try_emit(
        &self,
        event: &str,
        payload: Payload,
        handed_over: Option<HandedOver>,
        charge: Charge,
    ) -> Result<(), Failure> {
        self.bus.upgrade()?.emit(self, event, payload, handed_over, charge)
    }
}

/// Something that travels with an event to its listener. Its types are the business of the code that hands it over.
pub(crate) struct HandedOver {
    /// For the listener, which may keep it.
    pub(crate) value: Opaque,
    /// Dropped when the listener has ended.
    pub(crate) until_the_end: Opaque,
}

pub(crate) type Opaque = Box<dyn Any + Send + Sync>;

/// One event as its listener gets it: where it comes from, and a [`Caller`] for further events.
#[derive(Debug)]
pub struct Delivery {
    pub(crate) handed_over: Option<Opaque>,
    pub(crate) caller: Caller,
    /// Made for a listener that asks for it: the counter of the ids is shared by all threads.
    pub(crate) id: OnceLock<EventId>,
    pub(crate) attempt: u32,
}

impl Delivery {
    /// The id of the event: the same for each attempt to deliver it, another one for each event (spec C6).
    pub fn id(&self) -> String {
        self.id.get_or_init(EventId::made).to_string()
    }

    /// The number of this attempt to deliver the event, from 1. It is always 1 unless the event's channel is durable.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The event's name within its channel.
    pub fn event(&self) -> &str {
        self.caller.chain.listener().map_or("", ListenerNames::event)
    }

    /// The id of the request that began the chain, if a request did.
    pub fn request_id(&self) -> Option<&RequestId> {
        self.caller.request_id()
    }

    /// When the host ends the call that the event belongs to; `None` if never.
    pub fn deadline(&self) -> Option<Instant> {
        self.caller.deadline()
    }

    /// Whether nobody waits for the value any more, since the call was cancelled: the client went away, or the deadline
    /// passed. Nobody ever waits for the value of an emitted event, which does not count.
    ///
    /// A native listener does not need it, since its future is dropped then; work that it started elsewhere may.
    pub fn is_cancelled(&self) -> bool {
        self.caller.chain.is_cancelled(|| self.caller.clock().now())
    }

    /// Calls and emits further events, also after the delivery is gone; it keeps this chain's depth and request id.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Calls an event by its type, as [`Caller::call`], with the same errors and cancel safety.
    pub async fn call<E: IoEvent>(&self, payload: E::Payload) -> Result<E::Output, Failure> {
        self.caller.call::<E>(payload).await
    }

    /// Calls an event by its name, as [`Caller::call_raw`], with the same errors and cancel safety.
    pub async fn call_raw(&self, event: &str, payload: Payload) -> Result<Payload, Failure> {
        self.caller.call_raw(event, payload).await
    }

    /// Emits an event by its type and returns the delivery at once (spec H3).
    pub fn emit<E: Event>(&self, payload: E::Payload) -> &Self {
        self.caller.emit::<E>(payload);
        self
    }

    /// Emits an event by its name and returns the delivery at once (spec H3).
    pub fn emit_raw(&self, event: &str, payload: Payload) -> &Self {
        self.caller.emit_raw(event, payload);
        self
    }
}

/// Listens to one event of a channel. Its callers cannot see whether it lives in the host application or in a module
/// (spec C3).
pub trait Listener: Send + Sync + 'static {
    /// Handles one event. The result goes to the caller of `call`; for an emitted event a value is dropped and a failure
    /// is reported as `server:crashed`.
    fn deliver(&self, delivery: Delivery, payload: Payload) -> BoxFuture<'static, Result<Payload, Failure>>;

    /// Whether it sends the event to another process, which a context cannot be handed over to (spec N9).
    fn is_remote(&self) -> bool {
        false
    }
}

impl<F, Fut> Listener for F
where
    F: Fn(Delivery, Payload) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Payload, Failure>> + Send + 'static,
{
    fn deliver(&self, delivery: Delivery, payload: Payload) -> BoxFuture<'static, Result<Payload, Failure>> {
        Box::pin(self(delivery, payload))
    }
}

/// A listener under its channel and event, ready to be registered.
#[derive(derive_more::Debug)]
#[debug("Subscription({channel}:{event})")]
pub struct Subscription {
    /// The channel's name.
    pub channel: String,
    /// The event's name within the channel.
    pub event: String,
    /// The module that declared it; `None` for the host application.
    pub module: Option<String>,
    /// The listener.
    pub listener: Arc<dyn Listener>,
}
