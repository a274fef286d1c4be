//! Channels: named groups of listeners (spec C1).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crossbeam_utils::CachePadded;

use super::Payload;
use super::caller::{Delivery, Listener, Opaque, Subscription};
use super::durable::channel::DurableChannel;
use super::queue::Queue;
use crate::crash::SERVER_CHANNEL;
use crate::routing::{MAX_NAME_BYTES, excerpt, is_unprintable};
use crate::{Charge, Error, ErrorKind, Failure, FailureCode, Sharded};

/// A listener in its place.
pub(crate) struct Registered {
    pub(crate) names: ListenerNames,
    pub(crate) listener: Arc<dyn Listener>,
    pub(crate) queue: Arc<Queue<Emitted>>,
    /// The number of its events in the queue.
    waiting: CachePadded<AtomicUsize>,
}

/// The names of a listener: chains of calls keep them, and not the listener.
#[derive(Clone, Debug)]
pub(crate) struct ListenerNames {
    /// `channel:event`.
    pub(crate) full: String,
    /// Where the event's own name begins in `full`.
    pub(crate) event_at: usize,
    pub(crate) module: Option<String>,
}

/// A listener, with names that only the chains of one shard share.
pub(crate) struct Listed {
    pub(crate) names: Arc<ListenerNames>,
    pub(crate) registered: Arc<Registered>,
}

/// One emitted event in a queue.
pub(crate) struct Emitted {
    pub(crate) registered: Arc<Registered>,
    pub(crate) delivery: Delivery,
    pub(crate) payload: Payload,
    /// Counts it, and belongs to what is handed over, until its listener has ended.
    pub(crate) until_the_end: (Charge, Option<Opaque>),
}

/// A listener by its name.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[display("`{channel}:{event}` of {}", owner(self.module.as_deref()))]
#[non_exhaustive]
pub struct ListenerName {
    /// Its channel.
    pub channel: String,
    /// The event, by its name within the channel.
    pub event: String,
    /// The module that declared it; `None` for the host application.
    pub module: Option<String>,
}

fn owner(module: Option<&str>) -> String {
    module.map_or("the host application".to_owned(), |module| format!("module `{module}`"))
}

impl ListenerNames {
    /// The event's name within its channel.
    pub(crate) fn event(&self) -> &str {
        &self.full[self.event_at..]
    }

    /// The channel, and the event's name within it.
    pub(super) fn parts(&self) -> (&str, &str) {
        (&self.full[..self.event_at - 1], self.event())
    }

    fn listener_name(&self) -> ListenerName {
        let (channel, event) = self.parts();
        ListenerName {
            channel: channel.to_owned(),
            event: event.to_owned(),
            module: self.module.clone(),
        }
    }
}

impl Registered {
    /// Reserves a place in the queue, of which this listener may have `limit`.
    pub(crate) fn reserve(&self, limit: usize) -> Result<(), Failure> {
        let more = |waiting| (waiting < limit).then_some(waiting + 1);
        let reserved = self.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        reserved.map(drop).map_err(|_| {
            let message = format!("the queue of `{}` is full with {limit} events", self.names.full);
            Failure::of(FailureCode::OVERLOADED, message)
        })
    }

    /// Gives the place in the queue back.
    pub(crate) fn release(&self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

/// All channels at one moment. Immutable; the bus swaps it whole.
#[derive(Clone, Default)]
pub(crate) struct Registry {
    channels: BTreeMap<String, ChannelListeners>,
    /// Event name without a channel, to every channel that has it.
    plain: HashMap<String, Vec<Entry>>,
    /// Listeners of the server's own events; the only ones that may be several to one event (spec E2).
    server: HashMap<String, Vec<Entry>>,
    /// The durable channels by name. Their listeners may be in another process.
    pub(super) durable: BTreeMap<String, Arc<DurableChannel>>,
}

/// Where an emitted event goes.
pub(super) enum Target<'r> {
    Listener(&'r Listed),
    /// The channel, and the event by its name within the channel.
    Durable(&'r Arc<DurableChannel>, &'r str),
}

/// A listener of a registry.
type Entry = Arc<Sharded<Listed>>;

fn names(entry: &Entry) -> &ListenerNames {
    &entry.local().registered.names
}

/// It stays when its last listener is gone, for the queue: events keep their order across a change of listeners.
#[derive(Clone, Default)]
struct ChannelListeners {
    queue: Arc<Queue<Emitted>>,
    events: BTreeMap<String, Entry>,
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
        let names_of_entry = ListenerNames {
            full: format!("{channel}:{event}"),
            event_at: channel.len() + 1,
            module: module.clone(),
        };
        let entry = |queue: &Arc<Queue<Emitted>>| {
            let registered = Arc::new(Registered {
                names: names_of_entry,
                listener,
                queue: queue.clone(),
                waiting: CachePadded::default(),
            });
            Arc::new(Sharded::new(move || Listed {
                names: Arc::new(registered.names.clone()),
                registered: registered.clone(),
            }))
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
            let (first, second) = (owner(names(other).module.as_deref()), owner(module.as_deref()));
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
        let stays = |entry: &Entry| names(entry).module.as_deref() != Some(module);
        for channel in self.channels.values_mut() {
            channel.events.retain(|_, entry| stays(entry));
        }
        for entries in self.plain.values_mut().chain(self.server.values_mut()) {
            entries.retain(stays);
        }
        self.plain.retain(|_, entries| !entries.is_empty());
    }

    pub(crate) fn server(&self, event: &str) -> &[Entry] {
        self.server.get(event).map_or(&[], Vec::as_slice)
    }

    /// Finds a listener (spec C2).
    pub(crate) fn find(&self, name: &str) -> Result<&Entry, Failure> {
        if name.is_empty() {
            let message = "the event has an empty name; expected `channel:event`, or the event's name alone";
            return Err(Failure::of(FailureCode::UNKNOWN_EVENT, message));
        }
        match self.readings(name) {
            (Some(only), []) | (None, [only]) => Ok(only),
            (None, []) => Err(self.unknown(name)),
            (in_channel, plain) => Err(ambiguous(name, in_channel.into_iter().chain(plain))),
        }
    }

    /// Finds where an emitted event goes.
    pub(super) fn target<'r>(&'r self, name: &'r str) -> Result<Target<'r>, Failure> {
        match self.find(name) {
            Ok(entry) => {
                let listed = entry.local();
                let (channel, event) = listed.names.parts();
                let durable = self.durable.get(channel);
                Ok(durable.map_or(Target::Listener(listed), |durable| Target::Durable(durable, event)))
            }
            Err(failure) => {
                let durable = self.durable_by_name(name);
                durable
                    .map(|(durable, event)| Target::Durable(durable, event))
                    .ok_or(failure)
            }
        }
    }

    /// The durable channel that the first part of a name names, and the event.
    pub(super) fn durable_by_name<'n>(&self, name: &'n str) -> Option<(&Arc<DurableChannel>, &'n str)> {
        let (channel, event) = name.split_once(':')?;
        let durable = self.durable.get(channel)?;
        (check_name("event", event, |_| false).is_ok() && event.len() <= MAX_NAME_BYTES).then_some((durable, event))
    }

    /// A listener by its channel and its name within the channel.
    pub(super) fn listener(&self, channel: &str, event: &str) -> Option<&Listed> {
        Some(self.channels.get(channel)?.events.get(event)?.local())
    }

    /// Whether the channel has a listener.
    pub(super) fn listens_to(&self, channel: &str) -> bool {
        self.channels
            .get(channel)
            .is_some_and(|channel| !channel.events.is_empty())
    }

    /// Every listener that a name can mean: the event of a channel that the first part names, and the plain event of that
    /// name. If the first part names a channel without that event, the name means none.
    fn readings(&self, name: &str) -> (Option<&Entry>, &[Entry]) {
        let in_channel = name
            .split_once(':')
            .and_then(|(first, rest)| Some((self.channels.get(first)?, rest)))
            .filter(|(channel, _)| !channel.events.is_empty())
            .map(|(channel, event)| channel.events.get(event));
        match in_channel {
            Some(None) => (None, &[]),
            in_channel => (in_channel.flatten(), self.plain.get(name).map_or(&[], Vec::as_slice)),
        }
    }

    /// Every listener that a name can mean.
    pub(crate) fn listeners(&self, name: &str) -> Vec<ListenerName> {
        let (in_channel, plain) = self.readings(name);
        in_channel
            .into_iter()
            .chain(plain)
            .map(|entry| names(entry).listener_name())
            .collect()
    }

    /// The names of all listeners.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let listeners = self.channels.values().flat_map(|channel| channel.events.values());
        listeners.map(|entry| &*names(entry).full)
    }

    pub(super) fn unknown(&self, name: &str) -> Failure {
        let mut message = format!("no channel listens to event `{}`", excerpt(name));
        // A name of any length may come from a guest, and no module declares a longer one.
        if name.len() > 2 * MAX_NAME_BYTES + 1 {
            return Failure::of(FailureCode::UNKNOWN_EVENT, message);
        }
        let known = self.channels.values().flat_map(|channel| channel.events.values());
        // A module may declare thousands of listeners, and this runs for each unknown name.
        let nearest = known
            .take(MAX_COMPARED)
            .map(|entry| {
                let known = names(entry);
                let likeness = strsim::jaro_winkler(name, &known.full).max(strsim::jaro_winkler(name, known.event()));
                (likeness, known)
            })
            .max_by(|(a, _), (b, _)| a.total_cmp(b));
        match nearest {
            Some((likeness, known)) if likeness > 0.7 => {
                message.push_str(&format!("; the nearest known is `{}`", known.full));
            }
            Some(_) => {}
            None => message.push_str("; no channel is registered"),
        }
        Failure::of(FailureCode::UNKNOWN_EVENT, message)
    }
}

/// The most listeners among which the nearest name is searched.
const MAX_COMPARED: usize = 256;

fn ambiguous<'r>(name: &str, entries: impl Iterator<Item = &'r Entry>) -> Failure {
    const SHOWN: usize = 8;
    let mut found: Vec<_> = entries.map(|entry| format!("`{}`", names(entry).full)).collect();
    if found.len() > SHOWN {
        let more = found.split_off(SHOWN).len();
        found.push(format!("{more} others"));
    }
    let message = format!("event `{name}` could be any of {}; name the channel", found.join(", "));
    Failure::of(FailureCode::AMBIGUOUS_EVENT, message)
}

pub(super) fn check_name(what: &str, name: &str, forbidden: impl Fn(char) -> bool) -> Result<(), Error> {
    let found = if name.is_empty() {
        "an empty name".to_owned()
    } else if let Some(c) = name
        .chars()
        .find(|&c| c.is_whitespace() || is_unprintable(c) || forbidden(c))
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
