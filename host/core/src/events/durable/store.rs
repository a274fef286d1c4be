//! The seam between durable channels and whatever keeps their events.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::gate::Receipt;
use super::options::DurableOptions;
use crate::BoxFuture;
use crate::events::Payload;

/// An event of a durable channel, as a store keeps it.
#[derive(Clone, Debug)]
pub struct RecordedEvent {
    /// The id: the same for each attempt. A store that knows the id already keeps the event once.
    pub id: String,
    /// The channel.
    pub channel: Arc<str>,
    /// The event, by its name within the channel.
    pub event: String,
    /// The payload.
    pub payload: Payload,
    /// The depth of the chain that the event belongs to.
    pub depth: u8,
    /// The id of the request that began the chain, if a request did.
    pub request_id: Option<String>,
    /// The `traceparent` of that request, if it had one (W3C Trace Context).
    pub traceparent: Option<String>,
    /// Events of one partition are delivered one after the other; always 0 unless the order is by key.
    pub partition: u16,
}

/// An event that a store gave out. Dropped without [`settle`](Hold::settle), it is given out again.
#[derive(derive_more::Debug)]
pub struct TakenEvent {
    /// The event.
    pub event: RecordedEvent,
    /// The number of this attempt, from 1. The store counts an attempt before it gives the event out, so that a listener that
    /// ends the process each time cannot run for ever.
    pub attempt: u32,
    /// The place of the event in the store.
    #[debug(skip)]
    pub hold: Box<dyn Hold>,
}

/// The place of an event that a store gave out.
pub trait Hold: Send + Sync {
    /// Tells the store that the listener still runs. It is called every few seconds, and must not block.
    fn extend(&self) {}

    /// Ends this attempt. It completes when the store has kept the outcome.
    fn settle(self: Box<Self>, settled: Settled) -> BoxFuture<'static, Result<(), StoreError>>;
}

/// How an attempt to deliver an event ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// The listener returned a value.
    Done,
    /// The event is to be given out again after that time.
    Retry(Duration),
    /// The event goes to the dead letters, for that reason.
    Dead(String),
}

/// An event that was given up.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// The event.
    pub event: RecordedEvent,
    /// The attempts that were made.
    pub attempts: u32,
    /// Why it was given up.
    pub reason: String,
    /// When it was given up.
    pub since: SystemTime,
}

/// The figures of a channel in a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreFigures {
    /// The events that are not settled yet.
    pub waiting: u64,
    /// The dead letters that are kept.
    pub dead: u64,
    /// The dead letters that were dropped since the start, because there were too many.
    pub dropped: u64,
    /// The age of the oldest event that is not settled yet.
    pub lag: Duration,
}

/// An error of a store, for the log and for the commands that look at dead letters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreError(pub String);

/// Keeps the events of durable channels.
///
/// An event that a receipt [confirms](Receipt::confirm) survives the end of the process. It is given out until it is settled as
/// [`Done`](Settled::Done) or [`Dead`](Settled::Dead).
pub trait EventStore: Send + Sync + 'static {
    /// Prepares the channel. It may block.
    ///
    /// # Errors
    /// The store keeps events of the channel under settings that do not fit; the message lists the differences.
    fn open(&self, channel: &Arc<str>, options: &DurableOptions) -> Result<(), StoreError>;

    /// Keeps an event, and tells the receipt once it is kept, or why it is not. It must not block.
    fn record(&self, event: RecordedEvent, receipt: Receipt);

    /// Whether other processes may take the events out.
    fn is_shared(&self) -> bool {
        false
    }

    /// The next event of the channel that may be delivered, as soon as there is one. Events before it in its channel or
    /// partition, as [`Order`](super::options::Order) says, are settled. Several may be asked for at a time.
    ///
    /// # Cancel safety
    /// Cancelled, no event is lost.
    fn take(&self, channel: &str) -> BoxFuture<'static, Result<TakenEvent, StoreError>>;

    /// The figures of a channel.
    fn figures(&self, channel: &str) -> BoxFuture<'static, Result<StoreFigures, StoreError>>;

    /// Up to `most` dead letters of a channel, the oldest first, from the one behind `after` on.
    fn dead_letters(
        &self,
        channel: &str,
        after: Option<&str>,
        most: usize,
    ) -> BoxFuture<'static, Result<Vec<DeadLetter>, StoreError>>;

    /// One dead letter by the id of its event.
    fn dead_letter(&self, channel: &str, id: &str) -> BoxFuture<'static, Result<Option<DeadLetter>, StoreError>>;

    /// Takes a dead letter out, and with `retry` puts its event behind those that wait, as one that was never attempted. The
    /// result is whether there is such a dead letter.
    fn settle_dead(&self, channel: &str, id: &str, retry: bool) -> BoxFuture<'static, Result<bool, StoreError>>;
}
