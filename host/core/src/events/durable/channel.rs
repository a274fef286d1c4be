//! A durable channel, its store, and what happened to its events.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::options::DurableOptions;
use super::store::EventStore;

/// A channel whose emits are recorded.
pub(crate) struct DurableChannel {
    pub(crate) name: Arc<str>,
    pub(crate) options: DurableOptions,
    pub(crate) store: Arc<dyn EventStore>,
    pub(crate) counts: DurableCounts,
    /// The events that the store has not answered yet.
    pub(super) unanswered: AtomicUsize,
}

/// The counters behind [`DurableFigures`].
#[derive(Debug, Default)]
pub(crate) struct DurableCounts {
    pub(super) recorded: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) delivered: AtomicU64,
    pub(super) retried: AtomicU64,
    pub(super) dead: AtomicU64,
}

/// The counters of a durable channel since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DurableFigures {
    /// The events that the store confirmed.
    pub recorded: u64,
    /// The events that were not recorded.
    pub refused: u64,
    /// The events whose listener returned a value.
    pub delivered: u64,
    /// The attempts that failed and were followed by another.
    pub retried: u64,
    /// The events that became dead letters.
    pub dead: u64,
}

impl DurableChannel {
    pub(crate) fn new(name: Arc<str>, options: DurableOptions, store: Arc<dyn EventStore>) -> Self {
        Self {
            name,
            options,
            store,
            counts: DurableCounts::default(),
            unanswered: AtomicUsize::new(0),
        }
    }

    pub(crate) fn figures(&self) -> DurableFigures {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        DurableFigures {
            recorded: load(&self.counts.recorded),
            refused: load(&self.counts.refused),
            delivered: load(&self.counts.delivered),
            retried: load(&self.counts.retried),
            dead: load(&self.counts.dead),
        }
    }
}
