//! What the thread of a journal is asked to do.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use futures_channel::oneshot;
use pointwork_core::{DeadLetter, DurableOptions, Receipt, RecordedEvent, Settled, StoreError, StoreFigures};

use crate::journal::Place;

pub(crate) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;

/// An event that is given out, with its attempt.
pub(crate) type GivenOut = (RecordedEvent, u32, Place);

pub(crate) enum Operation {
    Open(Arc<str>, Box<DurableOptions>, SyncSender<Result<(), StoreError>>),
    Record(Box<RecordedEvent>, Receipt),
    Take(Arc<str>, Reply<GivenOut>),
    Settle {
        seq: i64,
        channel: Arc<str>,
        settled: Settled,
        reply: Reply<()>,
    },
    /// An event that was given out and not settled. Its attempt does not count unless somebody got it.
    Release {
        seq: i64,
        is_begun: bool,
    },
    Figures(Arc<str>, Reply<StoreFigures>),
    DeadLetters {
        channel: Arc<str>,
        after: Option<String>,
        most: usize,
        reply: Reply<Vec<DeadLetter>>,
    },
    DeadLetter(Arc<str>, String, Reply<Option<DeadLetter>>),
    SettleDead {
        channel: Arc<str>,
        id: String,
        retry: bool,
        reply: Reply<bool>,
    },
    /// A pause is over.
    Wake,
    End,
}
