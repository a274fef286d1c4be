//! Channels whose listeners are functions of the host's language.

use std::time::Instant;

use pointwork::{Caller, Context, Crash, CrashKind, Delivery, Failure, Listener, Payload};
use pointwork_core::BoxFuture;
use tokio::runtime::Handle;

use crate::function::Function;
use crate::nesting::depth_in;

/// An event for a function of the host's language.
#[derive(Debug)]
pub struct EventCall {
    delivery: Delivery,
    /// The payload as it came.
    pub payload: Payload,
}

impl EventCall {
    /// The event's name within its channel.
    pub fn event(&self) -> &str {
        self.delivery.event()
    }

    /// The id of the event: the same for each attempt to deliver it (spec C6).
    pub fn id(&self) -> String {
        self.delivery.id()
    }

    /// The number of this attempt to deliver the event, from 1; always 1 unless its channel is durable.
    pub fn attempt(&self) -> u32 {
        self.delivery.attempt()
    }

    /// The id of the request that led to the event; `None` outside of one.
    pub fn request_id(&self) -> Option<String> {
        self.delivery.request_id().map(ToString::to_string)
    }

    /// When nobody waits for the answer any more; `None` if that is open.
    pub fn deadline(&self) -> Option<Instant> {
        self.delivery.deadline()
    }

    /// The request that was handed over with the event, once; the holder of the context replies (spec H6).
    pub fn take_request(&mut self) -> Option<Context> {
        self.delivery.take_context()
    }

    /// Calls and emits further events in the chain of this one.
    pub fn caller(&self) -> &Caller {
        self.delivery.caller()
    }
}

/// The reason why a function of the host's language has no value.
#[derive(Clone, Debug)]
pub enum Fault {
    /// It failed on purpose: the caller, or the client, gets the status, the message and the details.
    Failed(Failure),
    /// It threw an exception: the text, with its place, goes to the log and to `server:crashed`; the caller and the client
    /// learn only that something crashed (spec E1).
    Threw(String),
}

impl Fault {
    /// The crash of a function that threw, which is an exception (spec E4), or that never answered.
    pub(crate) fn crash(threw: Option<String>) -> Crash {
        match threw {
            Some(text) => Crash::new(CrashKind::Exception, text),
            None => {
                let text = "the function was dropped without an answer, expected one answer";
                Crash::new(CrashKind::Panic, text)
            }
        }
    }
}

/// A failure with further fields: a JSON object, whose members stand beside the message in the reply.
///
/// # Errors
/// The text is no JSON object.
pub fn with_details(failure: Failure, details: &str) -> Result<Failure, String> {
    let fields: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(details).map_err(|error| format!("the details are no JSON object: {error}"))?;
    Ok(fields
        .into_iter()
        .fold(failure, |failure, (name, value)| failure.detail(name, value)))
}

/// A listener: its answer is the value for the caller.
pub type ChannelFunction = Function<EventCall, Result<Payload, Fault>>;

pub(crate) fn listener(function: ChannelFunction, threads: &Handle) -> impl Listener {
    let threads = threads.clone();
    FunctionListener { function, threads }
}

struct FunctionListener {
    function: ChannelFunction,
    threads: Handle,
}

impl Listener for FunctionListener {
    fn deliver(&self, delivery: Delivery, payload: Payload) -> BoxFuture<'static, Result<Payload, Failure>> {
        let depth = depth_in(delivery.caller().chain());
        let call = EventCall { delivery, payload };
        let calling = self.function.call(call, depth, &self.threads);
        Box::pin(async move {
            match calling.await {
                Some(Ok(payload)) => Ok(payload),
                Some(Err(Fault::Failed(failure))) => Err(failure),
                Some(Err(Fault::Threw(text))) => Err(Failure::of_crash(Fault::crash(Some(text)))),
                None => Err(Failure::of_crash(Fault::crash(None))),
            }
        })
    }
}
