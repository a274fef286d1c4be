//! Durable channels on the bus.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use event_listener::EventListener;
use http::{HeaderMap, HeaderValue};

use super::channel::{DurableChannel, DurableFigures};
use super::failed::Failed;
use super::gate::Gate;
use super::options::DurableOptions;
use super::store::{EventStore, RecordedEvent};
use crate::crash::SERVER_CHANNEL;
use crate::events::bus::{Bus, LiveBus, WeakBus};
use crate::events::chain::{Chain, FarOrigin};
use crate::events::registry::{Listed, Registered, check_name};
use crate::request_id::EventId;
use crate::{Crash, Error, ErrorKind, RequestId};

/// The header of the W3C recommendation "Trace Context".
const TRACEPARENT: &str = "traceparent";

/// That of version 0 has 55 bytes.
const MAX_TRACEPARENT: usize = 256;

impl Bus {
    /// Makes a channel durable: its emits are recorded in the store, before the reply of their request goes out, and are
    /// delivered at least once, in this process if it has listeners of the channel. `call` is as before.
    ///
    /// It may block, while the store is opened.
    ///
    /// # Errors
    /// [`EventName`](ErrorKind::EventName), for the channel `server` too; [`Durable`](ErrorKind::Durable) if the channel is
    /// durable already, or as the store's own; [`Closed`](ErrorKind::Closed).
    pub fn make_durable(
        &self,
        channel: &str,
        options: DurableOptions,
        store: Arc<dyn EventStore>,
    ) -> Result<(), Error> {
        check_name("channel", channel, |c| c == ':')?;
        if channel == SERVER_CHANNEL {
            let message = "the channel `server` cannot be durable: its events tell of this process";
            return Err(Error::new(ErrorKind::EventName, message));
        }
        let name: Arc<str> = channel.into();
        let opened = store.open(&name, &options);
        opened.map_err(|error| {
            let message = format!("the store does not take the channel `{channel}`");
            Error::new(ErrorKind::Durable, message).with_source(error)
        })?;
        let (lanes, durable) = (options.lanes(), Arc::new(DurableChannel::new(name, options, store)));
        let staged = self.stage_registry(|registry| {
            let known = registry.durable.insert(channel.to_owned(), durable.clone());
            known.map_or(Ok(()), |_| {
                let message = format!("the channel `{channel}` is durable already");
                Err(Error::new(ErrorKind::Durable, message))
            })
        });
        let (staged, state) = (staged?, self.state());
        state.durable.exists.store(true, Ordering::Relaxed);
        state.leaves.store(true, Ordering::Relaxed);
        staged.publish();
        let bus = self.caller().bus;
        for _ in 0..lanes {
            let deliver = durable.clone().deliver_all(bus.clone(), state.executor.clone());
            state.executor.spawn(Box::pin(deliver));
        }
        Ok(())
    }

    /// The durable channels and their figures, in the order of the alphabet.
    pub fn durable_channels(&self) -> Vec<(String, DurableFigures)> {
        let registry = self.state().registry.load();
        let figures = |channel: &DurableChannel| (channel.name.to_string(), channel.figures());
        registry.durable.values().map(|channel| figures(channel)).collect()
    }

    /// The durable channels that nobody can listen to but this application, and it does not: their events wait.
    pub fn durable_without_listeners(&self) -> Vec<String> {
        let registry = self.state().registry.load();
        let channels = registry.durable.iter();
        let waiting = channels.filter(|(name, channel)| !channel.store.is_shared() && !registry.listens_to(name));
        waiting.map(|(name, _)| name.clone()).collect()
    }

    /// The store of a durable channel.
    pub fn event_store(&self, channel: &str) -> Option<Arc<dyn EventStore>> {
        let registry = self.state().registry.load();
        registry.durable.get(channel).map(|channel| channel.store.clone())
    }

    /// Takes no further event out of a store. Those that are being delivered go on.
    pub fn stop_durable(&self) {
        let durable = &self.state().durable;
        durable.stopped.store(true, Ordering::Relaxed);
        durable.changes.notify(usize::MAX);
    }

    /// The `traceparent` of a request, if events leave the process.
    pub(crate) fn traceparent(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let leaves = self.state().leaves.load(Ordering::Relaxed);
        leaves
            .then(|| headers.get(TRACEPARENT).cloned())
            .flatten()
            .filter(is_trace)
    }

    /// The gate of a request; `None` without a durable channel.
    pub(crate) fn gate(&self) -> Option<Arc<Gate>> {
        let exists = self.state().durable.exists.load(Ordering::Relaxed);
        exists.then(Arc::default)
    }
}

impl WeakBus {
    /// Completes when listeners change; `None` when no event is to be delivered any more.
    pub(in crate::events) fn durable_change(&self) -> Option<EventListener> {
        let bus = self.upgrade().ok()?;
        let durable = &bus.0.durable;
        let changed = durable.changes.listen();
        (!durable.stopped.load(Ordering::Relaxed)).then_some(changed)
    }

    /// Whether the channel has a listener.
    pub(in crate::events) fn listens_to(&self, channel: &str) -> bool {
        self.upgrade()
            .is_ok_and(|bus| bus.0.registry.load().listens_to(channel))
    }
}

/// Whether it may be one of this version or of a later one: text of a bounded length.
fn is_trace(traceparent: &HeaderValue) -> bool {
    traceparent.len() <= MAX_TRACEPARENT && traceparent.to_str().is_ok()
}

/// Counts an event as waiting while it is delivered.
pub(in crate::events) struct Delivering(LiveBus);

impl Drop for Delivering {
    fn drop(&mut self) {
        self.0.0.waiting.local().fetch_sub(1, Ordering::Relaxed);
    }
}

impl LiveBus {
    pub(in crate::events) fn delivering(&self) -> Delivering {
        self.0.waiting.local().fetch_add(1, Ordering::Relaxed);
        Delivering(self.clone())
    }

    /// Checks an event of a store, which strangers may write.
    pub(in crate::events) fn check_recorded(&self, event: &RecordedEvent) -> Result<(), String> {
        let checked = self.check_size(&event.payload, || "its payload".to_owned());
        checked.map_err(|failure| failure.to_string())
    }

    /// The listener of an event of a store, with the chain of the event.
    pub(in crate::events) fn listener(
        &self,
        event: &RecordedEvent,
        gate: &Arc<Gate>,
    ) -> Option<(Arc<Registered>, Chain)> {
        let registry = self.0.registry.load();
        let Listed { names, registered } = registry.listener(&event.channel, &event.event)?;
        let traceparent = event
            .traceparent
            .as_deref()
            .and_then(|text| HeaderValue::from_str(text).ok());
        let origin = FarOrigin {
            request_id: event.request_id.as_deref().and_then(RequestId::from_text),
            traceparent: traceparent.filter(is_trace),
        };
        let chain = Chain::of_recorded(names, event.depth, origin, gate.clone());
        Some((registered.clone(), chain))
    }

    /// Runs the listener of an event of a store.
    pub(super) async fn run_recorded(
        &self,
        registered: &Registered,
        chain: Chain,
        event: &RecordedEvent,
        attempt: u32,
    ) -> Result<(), Failed> {
        let mut delivery = self.delivery(chain);
        delivery.id = OnceLock::from(EventId::Recorded(event.id.clone()));
        delivery.attempt = attempt;
        self.run_emitted(registered, delivery, event.payload.clone()).await
    }

    /// Reports that an event of a store was given up.
    pub(super) fn report_recorded(&self, event: &RecordedEvent, mut crash: Crash) {
        crash.request_id.clone_from(&event.request_id);
        self.report_in(
            &Chain::default(),
            Some(&format!("{}:{}", event.channel, event.event)),
            crash,
        );
    }
}
