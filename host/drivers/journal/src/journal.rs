//! The handle of a journal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};

use futures_channel::oneshot;
use parking_lot::Mutex;
use pointwork_core::{
    BoxFuture, Clock, DeadLetter, DurableOptions, Error, ErrorKind, EventStore, Hold, Receipt, RecordedEvent, Settled,
    StoreError, StoreFigures, TakenEvent, limits,
};

use crate::database::Database;
use crate::operation::{Operation, Reply};
use crate::writer::Writer;

limits! {
    /// The file of a journal and its size.
    #[derive(Clone, Debug)]
    pub struct JournalOptions {
        /// The size to which the file may grow. The write-ahead log beside it has some MiB more.
        max_size: u64 = bytes(1 GiB) as "max-size";
    } and {
        /// The file. Its folder is created.
        path: PathBuf = PathBuf::new();
        /// The clock of the pauses between attempts. Default: the real clock.
        clock: Clock = Clock::real();
    }
}

/// A file that keeps the events of durable channels. Dropped, it writes what was handed to it, and closes the file.
pub struct Journal {
    /// `None` once it is being dropped.
    operations: Option<Sender<Operation>>,
    syncs: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl Journal {
    /// Opens the file, or creates it. It blocks.
    ///
    /// # Errors
    /// [`Durable`](ErrorKind::Durable): the file cannot be opened, is no journal, is damaged, or another process has it.
    pub fn open(options: JournalOptions) -> Result<Self, Error> {
        let database = Database::open(&options)?;
        let syncs = Arc::<AtomicU64>::default();
        let (operations, received) = mpsc::channel();
        let clock = options.clock.clone();
        let mut writer = Writer::new(database, clock.clone(), operations.clone(), syncs.clone());
        let thread = thread::Builder::new().name("pointwork-journal".to_owned());
        let thread = thread
            .spawn(move || {
                clock.register_thread();
                writer.run(&received);
            })
            .map_err(|error| {
                let message = format!("the thread of the journal `{}` does not start", options.path.display());
                Error::new(ErrorKind::Durable, message).with_source(error)
            })?;
        Ok(Self {
            operations: Some(operations),
            syncs,
            thread: Some(thread),
        })
    }

    /// The same, shared: a journal of this file that the process has open already is the result, with the size that it has. An
    /// application that takes the place of another one begins before the other one has ended.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn shared(options: JournalOptions) -> Result<Arc<Self>, Error> {
        static OPEN: Mutex<BTreeMap<PathBuf, Weak<Journal>>> = Mutex::new(BTreeMap::new());
        let mut open = OPEN.lock();
        open.retain(|_, journal| journal.strong_count() > 0);
        let path = std::path::absolute(&options.path).unwrap_or_else(|_| options.path.clone());
        if let Some(journal) = open.get(&path).and_then(Weak::upgrade) {
            return Ok(journal);
        }
        let journal = Arc::new(Self::open(options)?);
        open.insert(path, Arc::downgrade(&journal));
        Ok(journal)
    }

    /// The number of transactions since it was opened that waited for the disk.
    pub fn syncs(&self) -> u64 {
        self.syncs.load(Ordering::Relaxed)
    }

    /// Sends an operation. If the thread has ended, the operation is dropped, which its receiver sees.
    fn send(&self, operation: Operation) {
        if let Some(operations) = &self.operations {
            let _ = operations.send(operation);
        }
    }

    fn ask<T: Send + 'static>(
        &self,
        operation: impl FnOnce(Reply<T>) -> Operation,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let (reply, answer) = oneshot::channel();
        self.send(operation(reply));
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(ended())) })
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.send(Operation::End);
        self.operations = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl std::fmt::Debug for Journal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journal").finish_non_exhaustive()
    }
}

fn ended() -> StoreError {
    StoreError("the journal has ended".to_owned())
}

impl EventStore for Journal {
    fn open(&self, channel: &Arc<str>, options: &DurableOptions) -> Result<(), StoreError> {
        let (reply, answer) = mpsc::sync_channel(1);
        self.send(Operation::Open(channel.clone(), Box::new(options.clone()), reply));
        answer.recv().unwrap_or_else(|_| Err(ended()))
    }

    fn record(&self, event: RecordedEvent, receipt: Receipt) {
        self.send(Operation::Record(Box::new(event), receipt));
    }

    fn take(&self, channel: &str) -> BoxFuture<'static, Result<TakenEvent, StoreError>> {
        let (reply, answer) = oneshot::channel();
        self.send(Operation::Take(channel.into(), reply));
        Box::pin(async move {
            let (event, attempt, mut place) = answer.await.unwrap_or_else(|_| Err(ended()))?;
            place.is_begun = true;
            Ok(TakenEvent {
                event,
                attempt,
                hold: Box::new(place),
            })
        })
    }

    fn figures(&self, channel: &str) -> BoxFuture<'static, Result<StoreFigures, StoreError>> {
        self.ask(|reply| Operation::Figures(channel.into(), reply))
    }

    fn dead_letters(
        &self,
        channel: &str,
        after: Option<&str>,
        most: usize,
    ) -> BoxFuture<'static, Result<Vec<DeadLetter>, StoreError>> {
        self.ask(|reply| Operation::DeadLetters {
            channel: channel.into(),
            after: after.map(str::to_owned),
            most,
            reply,
        })
    }

    fn dead_letter(&self, channel: &str, id: &str) -> BoxFuture<'static, Result<Option<DeadLetter>, StoreError>> {
        self.ask(|reply| Operation::DeadLetter(channel.into(), id.to_owned(), reply))
    }

    fn settle_dead(&self, channel: &str, id: &str, retry: bool) -> BoxFuture<'static, Result<bool, StoreError>> {
        self.ask(|reply| Operation::SettleDead {
            channel: channel.into(),
            id: id.to_owned(),
            retry,
            reply,
        })
    }
}

/// The place of an event that was given out.
pub(crate) struct Place {
    seq: i64,
    channel: Arc<str>,
    operations: Sender<Operation>,
    /// Whether somebody got the event.
    is_begun: bool,
    is_settled: bool,
}

impl Place {
    pub(crate) fn new(seq: i64, channel: Arc<str>, operations: Sender<Operation>) -> Self {
        Self {
            seq,
            channel,
            operations,
            is_begun: false,
            is_settled: false,
        }
    }
}

impl Hold for Place {
    fn settle(mut self: Box<Self>, settled: Settled) -> BoxFuture<'static, Result<(), StoreError>> {
        self.is_settled = true;
        let (reply, answer) = oneshot::channel();
        let _ = self.operations.send(Operation::Settle {
            seq: self.seq,
            channel: self.channel.clone(),
            settled,
            reply,
        });
        Box::pin(async move { answer.await.unwrap_or_else(|_| Err(ended())) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_settled {
            let _ = self.operations.send(Operation::Release {
                seq: self.seq,
                is_begun: self.is_begun,
            });
        }
    }
}
