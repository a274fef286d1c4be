//! Channels: named groups of listeners (spec C1).

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Instant;

use pointwork_events::{Event, IoEvent};

use crate::crash::SERVER_CHANNEL;
use crate::events::bus::WeakBus;
use crate::events::chain::Chain;
use crate::events::queue::Queue;
use crate::{BoxFuture, Context, Crash, Error, ErrorKind, Failure, FailureCode, Payload, RequestId};

/// Hears one event of a channel. Where it lives, in the host application or in a module, its callers cannot tell
/// (spec C3).
pub trait Listener: Send + Sync + 'static {
    /// Handles one event. What it returns goes to the caller of `call`; for an emitted event a value is dropped and a
    /// failure is reported as `server:crashed`.
    fn deliver(&self, delivery: Delivery, payload: Payload) -> BoxFuture<'static, Result<Payload, Failure>>;
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

/// One event on its way through a listener: where it comes from, and the door to further events.
#[derive(Debug)]
pub struct Delivery {
    pub(crate) event: Arc<str>,
    pub(crate) name_at: usize,
    pub(crate) context: Option<Context>,
    pub(crate) caller: Caller,
}

impl Delivery {
    /// The event's name within its channel.
    pub fn event(&self) -> &str {
        &self.event[self.name_at..]
    }

    /// The id of the request that began the chain, if a request did.
    pub fn request_id(&self) -> Option<&RequestId> {
        self.caller.request_id.as_ref()
    }

    /// Takes the context that was handed over with the event (spec H6); `None` if there was none or it was taken.
    pub fn take_context(&mut self) -> Option<Context> {
        self.context.take()
    }

    /// The door to further events; it keeps this chain's depth and request id.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }
}

/// Calls and emits events within one chain. [`Context`] and [`Delivery`] each have one.
#[derive(Clone, Debug)]
pub struct Caller {
    pub(crate) bus: WeakBus,
    pub(crate) chain: Chain,
    pub(crate) request_id: Option<RequestId>,
}

impl Caller {
    /// When what runs in this chain is cut off; `None` if never.
    pub fn deadline(&self) -> Option<Instant> {
        self.chain.deadline()
    }

    /// The calls that led here.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Reports a crash as `server:crashed`, with the request that began the chain (spec E1). When the application is
    /// gone there is only the log.
    pub fn report(&self, crash: Crash) {
        match self.bus.upgrade() {
            Ok(bus) => bus.report_in(&self.chain, self.request_id.as_ref(), crash),
            Err(_) => tracing::error!(module = crash.module, limit = crash.limit, "{}", crash.message),
        }
    }

    /// Calls an event by its type and waits for the result (spec H3, H8).
    ///
    /// # Errors
    /// As [`call_raw`](Self::call_raw), and [`BAD_PAYLOAD`](FailureCode::BAD_PAYLOAD) when what the listener returned is
    /// not of the event's output type.
    ///
    /// # Cancel safety
    /// Cancelling cancels the listener.
    pub async fn call<E: IoEvent>(&self, payload: &E::Payload) -> Result<E::Output, Failure> {
        let result = self.call_raw(E::NAME, Payload::json(payload)?).await?;
        result.to().map_err(|failure| {
            Failure::internal(
                FailureCode::BAD_PAYLOAD,
                format!("the result of `{}`: {failure}", E::NAME),
            )
        })
    }

    /// Calls an event by its name and waits for the result.
    ///
    /// # Errors
    /// What the listener returns, or [`UNKNOWN_EVENT`](FailureCode::UNKNOWN_EVENT) with the nearest known name
    /// (spec C4), [`AMBIGUOUS_EVENT`](FailureCode::AMBIGUOUS_EVENT) (spec C2), [`TOO_DEEP`](FailureCode::TOO_DEEP),
    /// [`TOO_LARGE`](FailureCode::TOO_LARGE) for a payload or a result over
    /// [`payload_limit`](crate::BusOptions::payload_limit), or [`FAILED`](FailureCode::FAILED) when the listener crashed,
    /// which is reported as `server:crashed` as well (spec E1).
    ///
    /// # Cancel safety
    /// Cancelling cancels the listener.
    pub async fn call_raw(&self, event: &str, payload: Payload) -> Result<Payload, Failure> {
        self.bus.upgrade()?.call(self, event, payload).await
    }

    /// Emits an event by its type; see [`emit_raw`](Self::emit_raw).
    pub fn emit<E: Event>(&self, payload: &E::Payload) {
        match Payload::json(payload) {
            Ok(payload) => self.emit_raw(E::NAME, payload),
            Err(failure) => tracing::error!(event = E::NAME, "the event was not emitted: {failure}"),
        }
    }

    /// Puts an event into its listener's queue and returns at once. An unknown event or a full queue is logged and
    /// counted, never an error to the emitter (spec H3, C4).
    pub fn emit_raw(&self, event: &str, payload: Payload) {
        let emitted = self.bus.upgrade().and_then(|bus| bus.emit(self, event, payload, None));
        if let Err(failure) = emitted {
            tracing::error!(
                event,
                request_id = self.request_id.as_ref().map(tracing::field::display),
                "the event was not emitted: {failure}"
            );
        }
    }
}

/// A listener under its channel and event, ready to be registered.
pub struct Subscription {
    /// The channel's name.
    pub channel: String,
    /// The event's name within the channel.
    pub event: String,
    /// The module that brought it; `None` for the host application.
    pub module: Option<String>,
    /// Who hears it.
    pub listener: Arc<dyn Listener>,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Subscription({}:{})", self.channel, self.event)
    }
}

pub(crate) struct Entry {
    /// `channel:event`.
    pub(crate) name: Arc<str>,
    /// Where the event's own name begins in `name`.
    pub(crate) name_at: usize,
    pub(crate) module: Option<Arc<str>>,
    pub(crate) listener: Arc<dyn Listener>,
    pub(crate) queue: Arc<Queue>,
    /// How many of its events wait in the queue.
    pub(crate) waiting: AtomicUsize,
}

/// All channels at one moment. Immutable; the bus swaps it whole.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    channels: BTreeMap<String, Channel>,
    /// Event name without a channel, to every channel that has it.
    plain: HashMap<String, Vec<Arc<Entry>>>,
    /// Listeners of the server's own events; the only ones that may be several to one event (spec E2).
    server: HashMap<String, Vec<Arc<Entry>>>,
}

/// It stays when its last listener is gone, for the queue: events keep their order across a change of listeners.
#[derive(Clone, Default)]
struct Channel {
    queue: Arc<Queue>,
    events: BTreeMap<String, Arc<Entry>>,
}

impl Registry {
    pub(crate) fn add(&mut self, subscription: Subscription) -> Result<(), Error> {
        let Subscription {
            channel,
            event,
            module,
            listener,
        } = subscription;
        check_name("channel", &channel, |c| c == ':')?;
        check_name("event", &event, |_| false)?;
        let owner = module.as_deref().map(Arc::from);
        let entry = |queue: &Arc<Queue>| {
            Arc::new(Entry {
                name: format!("{channel}:{event}").into(),
                name_at: channel.len() + 1,
                module: owner,
                listener,
                queue: queue.clone(),
                waiting: AtomicUsize::new(0),
            })
        };
        if channel == SERVER_CHANNEL {
            // A queue each: a slow subscriber must not keep the news from the others.
            self.server
                .entry(event.clone())
                .or_default()
                .push(entry(&Arc::default()));
            return Ok(());
        }
        let group = self.channels.entry(channel.clone()).or_default();
        if let Some(other) = group.events.get(&event) {
            let owner =
                |module: Option<&str>| module.map_or("the host application".to_owned(), |m| format!("module `{m}`"));
            let (first, second) = (owner(other.module.as_deref()), owner(module.as_deref()));
            let message = if first == second {
                format!("event `{event}` of channel `{channel}` would have two listeners in {first}, expected one")
            } else {
                format!("event `{event}` of channel `{channel}` would have two listeners, in {first} and in {second}")
            };
            return Err(Error::new(ErrorKind::DuplicateListener, message));
        }
        let entry = entry(&group.queue);
        group.events.insert(event.clone(), entry.clone());
        self.plain.entry(event).or_default().push(entry);
        Ok(())
    }

    /// Takes every listener of a module out. Events that wait for them are heard all the same.
    pub(crate) fn remove(&mut self, module: &str) {
        let stays = |entry: &Arc<Entry>| entry.module.as_deref() != Some(module);
        for channel in self.channels.values_mut() {
            channel.events.retain(|_, entry| stays(entry));
        }
        for entries in self.plain.values_mut().chain(self.server.values_mut()) {
            entries.retain(stays);
        }
        self.plain.retain(|_, entries| !entries.is_empty());
    }

    pub(crate) fn server(&self, event: &str) -> &[Arc<Entry>] {
        self.server.get(event).map_or(&[], Vec::as_slice)
    }

    /// The rule of C2: the first part names a channel if there is one of that name; otherwise the whole is a plain event
    /// name, which one channel at most may have.
    pub(crate) fn find(&self, name: &str) -> Result<&Arc<Entry>, Failure> {
        if name.is_empty() {
            let message = "the event has an empty name; expected `channel:event`, or the event's name alone";
            return Err(Failure::internal(FailureCode::UNKNOWN_EVENT, message));
        }
        let found = match name
            .split_once(':')
            .and_then(|(first, rest)| Some((self.channels.get(first)?, rest)))
            .filter(|(channel, _)| !channel.events.is_empty())
        {
            Some((channel, event)) => channel.events.get(event),
            None => match self.plain.get(name).map(Vec::as_slice) {
                Some([only]) => Some(only),
                Some(several) => return Err(ambiguous(name, several)),
                None => None,
            },
        };
        found.ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> Failure {
        let mut message = format!("no channel listens to event `{name}`");
        let known = self.channels.values().flat_map(|channel| channel.events.values());
        let nearest = known
            .map(|entry| {
                let own = &entry.name[entry.name_at..];
                let likeness = strsim::jaro_winkler(name, &entry.name).max(strsim::jaro_winkler(name, own));
                (likeness, entry)
            })
            .max_by(|(a, _), (b, _)| a.total_cmp(b));
        match nearest {
            Some((likeness, entry)) if likeness > 0.7 => {
                message.push_str(&format!("; the nearest known is `{}`", entry.name));
            }
            Some(_) => {}
            None => message.push_str("; no channel is registered"),
        }
        Failure::internal(FailureCode::UNKNOWN_EVENT, message)
    }
}

/// Whether an event's full name is of the server's own channel.
pub(crate) fn is_of_server(name: &str) -> bool {
    name.strip_prefix(SERVER_CHANNEL)
        .is_some_and(|rest| rest.starts_with(':'))
}

fn ambiguous(name: &str, entries: &[Arc<Entry>]) -> Failure {
    let names: Vec<_> = entries.iter().map(|entry| format!("`{}`", entry.name)).collect();
    let message = format!("event `{name}` could be any of {}; name the channel", names.join(", "));
    Failure::internal(FailureCode::AMBIGUOUS_EVENT, message)
}

fn check_name(what: &str, name: &str, forbidden: impl Fn(char) -> bool) -> Result<(), Error> {
    let found = if name.is_empty() {
        "an empty name".to_owned()
    } else if let Some(c) = name
        .chars()
        .find(|&c| c.is_whitespace() || c.is_control() || forbidden(c))
    {
        format!("{c:?} in `{}`", name.escape_debug())
    } else {
        return Ok(());
    };
    let expected = match what {
        "channel" => "one or more characters without `:` and white space",
        _ => "one or more characters without white space",
    };
    Err(Error::new(
        ErrorKind::EventName,
        format!("invalid {what} name: {found}; expected {expected}"),
    ))
}
