//! The thread of a journal: everything that waits shares one transaction.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use pointwork_core::{Clock, DeadLetter, DurableOptions, Order, RecordedEvent, StoreError, StoreFigures};

use crate::database::{Database, Head, failed};
use crate::journal::Place;
use crate::operation::{GivenOut, Operation, Reply};
use crate::schema::GIVEN_OUT;

/// The most operations of a transaction, and the most bytes of their payloads.
const MAX_BATCH: (usize, usize) = (1_024, 16 << 20);

/// The time until the next try after a transaction failed, and between two looks at the ids that can be forgotten.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) struct Writer {
    database: Database,
    clock: Clock,
    /// For the places of events that are given out.
    operations: Sender<Operation>,
    syncs: Arc<AtomicU64>,
    channels: BTreeMap<Arc<str>, Channel>,
    /// Ends of attempts that are not kept yet.
    unkept: Vec<Operation>,
    forgotten: Instant,
    /// When the next event is to be given out that was retried.
    next_due: Option<i64>,
}

struct Channel {
    options: DurableOptions,
    takers: VecDeque<Reply<GivenOut>>,
    /// The number of events that wait.
    waiting: u64,
    /// The number of dead letters that went for newer ones.
    dropped: u64,
    /// The partition that is looked at first.
    turn: u16,
}

/// The result of an operation, valid if its transaction is.
enum Outcome {
    Done,
    Recorded(bool),
    Settled { dropped: u64, ends: bool },
    Refused(String),
    Figures(StoreFigures),
    Letters(Vec<DeadLetter>),
    Letter(Option<DeadLetter>),
    Found { is_there: bool, retries: bool },
}

/// An event that is given out when the transaction is kept.
struct Given {
    channel: Arc<str>,
    seq: i64,
    event: RecordedEvent,
    attempt: u32,
}

impl Writer {
    pub(crate) fn new(database: Database, clock: Clock, operations: Sender<Operation>, syncs: Arc<AtomicU64>) -> Self {
        Self {
            database,
            operations,
            syncs,
            channels: BTreeMap::new(),
            unkept: Vec::new(),
            forgotten: clock.now(),
            next_due: None,
            clock,
        }
    }

    /// Runs operations until the end of the journal.
    pub(crate) fn run(&mut self, received: &Receiver<Operation>) {
        let mut is_over = false;
        while !is_over {
            let mut batch = std::mem::take(&mut self.unkept);
            let mut next = match self.pause(!batch.is_empty()) {
                None => received.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(pause) => self.receive(received, pause),
            };
            let mut bytes = 0;
            loop {
                match next {
                    Ok(Operation::End) | Err(RecvTimeoutError::Disconnected) => is_over = true,
                    Ok(Operation::Wake) | Err(RecvTimeoutError::Timeout) => {}
                    Ok(operation) => {
                        bytes += size(&operation);
                        batch.push(operation);
                    }
                }
                if is_over || batch.len() >= MAX_BATCH.0 || bytes >= MAX_BATCH.1 {
                    break;
                }
                let Ok(operation) = received.try_recv() else { break };
                next = Ok(operation);
            }
            self.transact(batch);
        }
    }

    /// Waits for an operation, for at most `pause`.
    fn receive(&self, received: &Receiver<Operation>, pause: Duration) -> Result<Operation, RecvTimeoutError> {
        let operations = self.operations.clone();
        let wake = move || {
            // The journal may have ended.
            let _ = operations.send(Operation::Wake);
        };
        match self.clock.wake_at(self.clock.now() + pause, wake) {
            None => received.recv_timeout(pause),
            Some(_timer) => received.recv().map_err(|_| RecvTimeoutError::Disconnected),
        }
    }

    /// How long to wait for an operation; `None` for ever.
    fn pause(&self, is_unkept: bool) -> Option<Duration> {
        let due = self.next_due.map(|due| {
            let left = due.saturating_sub(self.database.now());
            Duration::from_millis(left.max(0).unsigned_abs())
        });
        [is_unkept.then_some(PAUSE), due].into_iter().flatten().min()
    }

    /// Runs operations in one transaction, and answers them when it is kept.
    fn transact(&mut self, batch: Vec<Operation>) {
        let (batch, others): (Vec<_>, Vec<_>) = batch
            .into_iter()
            .partition(|operation| !matches!(operation, Operation::Take(..) | Operation::Open(..)));
        for operation in others {
            match operation {
                Operation::Take(channel, reply) => self.take(&channel, reply),
                Operation::Open(channel, options, reply) => {
                    let _ = reply.send(self.open(channel, *options));
                }
                _ => {}
            }
        }
        let is_synced = batch.iter().any(needs_disk);
        let mut outcomes = Vec::with_capacity(batch.len());
        match self.try_transact(is_synced, &batch, &mut outcomes) {
            Ok(given) => {
                self.syncs.fetch_add(u64::from(is_synced), Ordering::Relaxed);
                for (operation, outcome) in batch.into_iter().zip(outcomes) {
                    self.answer(operation, outcome);
                }
                given.into_iter().for_each(|given| self.give(given));
            }
            Err(error) => {
                self.database.roll_back();
                tracing::error!("a transaction of the journal failed: {error}");
                let error = failed(&error);
                batch.into_iter().for_each(|operation| self.refuse(operation, &error));
                // What waits for an event waits on, and the next try is not at once.
                self.next_due = Some(self.database.now() + 1_000);
            }
        }
    }

    fn try_transact(
        &mut self,
        is_synced: bool,
        batch: &[Operation],
        outcomes: &mut Vec<Outcome>,
    ) -> rusqlite::Result<Vec<Given>> {
        self.database.begin(is_synced)?;
        for operation in batch {
            outcomes.push(self.apply(operation)?);
        }
        if is_synced && self.clock.now() - self.forgotten > PAUSE {
            self.forgotten = self.clock.now();
            self.database.forget()?;
        }
        let given = self.choose()?;
        self.database.commit()?;
        Ok(given)
    }

    fn apply(&self, operation: &Operation) -> rusqlite::Result<Outcome> {
        let database = &self.database;
        Ok(match operation {
            Operation::Record(event, _) => {
                let Some(channel) = self.channels.get(&event.channel) else {
                    return Ok(Outcome::Refused("the journal does not have the channel".to_owned()));
                };
                match database.record(event, channel.options.duplicates) {
                    Ok(is_new) => Outcome::Recorded(is_new),
                    // The others can be kept: a smaller event may fit into a file that is full.
                    Err(error) if database.is_in_transaction() => Outcome::Refused(failed(&error).0),
                    Err(error) => return Err(error),
                }
            }
            Operation::Settle {
                seq, channel, settled, ..
            } => {
                let most_dead = self.channels.get(channel).map(|channel| channel.options.dead_letters);
                Outcome::Settled {
                    dropped: database.settle(channel, *seq, settled, most_dead.unwrap_or(u32::MAX))?,
                    ends: !matches!(settled, pointwork_core::Settled::Retry(_)),
                }
            }
            Operation::Release { seq, is_begun } => {
                database.release(*seq, *is_begun)?;
                Outcome::Done
            }
            Operation::Figures(channel, _) => Outcome::Figures(self.figures(channel)?),
            Operation::DeadLetters {
                channel, after, most, ..
            } => Outcome::Letters(database.dead_letters(channel, after.as_deref(), *most)?),
            Operation::DeadLetter(channel, id, _) => Outcome::Letter(database.dead_letter(channel, id)?),
            Operation::SettleDead { channel, id, retry, .. } => Outcome::Found {
                is_there: database.settle_dead(channel, id, *retry)?,
                retries: *retry,
            },
            Operation::Open(..) | Operation::Take(..) | Operation::Wake | Operation::End => Outcome::Done,
        })
    }

    fn figures(&self, name: &str) -> rusqlite::Result<StoreFigures> {
        let Some(channel) = self.channels.get(name) else {
            return Ok(StoreFigures::default());
        };
        let mut oldest = None;
        for partition in 0..channel.partitions() {
            let emitted = self.database.oldest(name, partition)?;
            oldest = [oldest, emitted].into_iter().flatten().min();
        }
        let lag = oldest.map_or(0, |emitted| self.database.now().saturating_sub(emitted));
        Ok(StoreFigures {
            waiting: channel.waiting,
            dead: self.database.dead(name)?,
            dropped: channel.dropped,
            lag: Duration::from_millis(lag.max(0).unsigned_abs()),
        })
    }

    fn answer(&mut self, operation: Operation, outcome: Outcome) {
        match (operation, outcome) {
            (Operation::Record(event, receipt), Outcome::Recorded(is_new)) => {
                if let Some(channel) = self.channels.get_mut(&event.channel) {
                    channel.waiting += u64::from(is_new);
                }
                receipt.confirm();
            }
            (Operation::Record(_, receipt), Outcome::Refused(reason)) => receipt.refuse(reason),
            (Operation::Settle { channel, reply, .. }, Outcome::Settled { dropped, ends }) => {
                if let Some(channel) = self.channels.get_mut(&channel) {
                    channel.dropped += dropped;
                    channel.waiting = channel.waiting.saturating_sub(u64::from(ends));
                }
                let _ = reply.send(Ok(()));
            }
            (Operation::Figures(_, reply), Outcome::Figures(figures)) => drop(reply.send(Ok(figures))),
            (Operation::DeadLetters { reply, .. }, Outcome::Letters(letters)) => drop(reply.send(Ok(letters))),
            (Operation::DeadLetter(_, _, reply), Outcome::Letter(letter)) => drop(reply.send(Ok(letter))),
            (Operation::SettleDead { channel, reply, .. }, Outcome::Found { is_there, retries }) => {
                if let Some(channel) = self.channels.get_mut(&channel) {
                    channel.waiting += u64::from(is_there && retries);
                }
                let _ = reply.send(Ok(is_there));
            }
            _ => {}
        }
    }

    /// Answers an operation whose transaction failed. The ends of attempts are tried again.
    fn refuse(&mut self, operation: Operation, error: &StoreError) {
        match operation {
            Operation::Record(_, receipt) => receipt.refuse(error.0.clone()),
            Operation::Settle { .. } | Operation::Release { .. } => self.unkept.push(operation),
            Operation::Figures(_, reply) => drop(reply.send(Err(error.clone()))),
            Operation::DeadLetters { reply, .. } => drop(reply.send(Err(error.clone()))),
            Operation::DeadLetter(_, _, reply) => drop(reply.send(Err(error.clone()))),
            Operation::SettleDead { reply, .. } => drop(reply.send(Err(error.clone()))),
            Operation::Open(..) | Operation::Take(..) | Operation::Wake | Operation::End => {}
        }
    }

    fn take(&mut self, channel: &str, reply: Reply<GivenOut>) {
        match self.channels.get_mut(channel) {
            Some(channel) => channel.takers.push_back(reply),
            None => {
                let message = format!("the journal does not have the channel `{channel}`");
                let _ = reply.send(Err(StoreError(message)));
            }
        }
    }

    /// Chooses the events for those who wait for one.
    fn choose(&mut self) -> rusqlite::Result<Vec<Given>> {
        let (database, now) = (&self.database, self.database.now());
        let (mut given, mut next_due) = (Vec::new(), None);
        for (name, channel) in &mut self.channels {
            channel.takers.retain(|taker| !taker.is_canceled());
            let mut free = channel.takers.len();
            let mut partition = channel.turn;
            // Without an order, the next event is asked for until none is due.
            let mut looks = if channel.options.order == Order::None {
                free + 1
            } else {
                channel.partitions().into()
            };
            while free > 0 && looks > 0 {
                looks -= 1;
                let head = match channel.options.order {
                    Order::None => database.first_due(name)?,
                    Order::Channel | Order::Key(_) => database.head(name, partition)?,
                };
                partition = (partition + 1) % channel.partitions();
                match head {
                    Some(Head { seq, due }) if due <= now => {
                        let Some((event, attempt)) = database.give_out(seq)? else {
                            continue;
                        };
                        free -= 1;
                        let channel = name.clone();
                        given.push(Given {
                            channel,
                            seq,
                            event,
                            attempt,
                        });
                    }
                    Some(Head { due, .. }) if due < GIVEN_OUT => {
                        next_due = [next_due, Some(due)].into_iter().flatten().min();
                    }
                    _ => {}
                }
            }
            channel.turn = partition;
        }
        self.next_due = next_due;
        Ok(given)
    }

    fn give(&mut self, given: Given) {
        let Given {
            channel,
            seq,
            event,
            attempt,
        } = given;
        let place = Place::new(seq, channel.clone(), self.operations.clone());
        let taker = self
            .channels
            .get_mut(&channel)
            .and_then(|channel| channel.takers.pop_front());
        if let Some(taker) = taker {
            // A taker that is gone drops the place, which gives the event back.
            let _ = taker.send(Ok((event, attempt, place)));
        }
    }

    fn open(&mut self, name: Arc<str>, options: DurableOptions) -> Result<(), StoreError> {
        let mut channel = self.opened(&name, options)?;
        if let Some(before) = self.channels.remove(&name) {
            // Another application of this process has the channel too.
            channel.takers = before.takers;
            channel.dropped = before.dropped;
        }
        self.channels.insert(name, channel);
        Ok(())
    }

    fn opened(&self, name: &str, options: DurableOptions) -> Result<Channel, StoreError> {
        let waiting = self.database.waiting(name).map_err(|error| failed(&error))?;
        let kept = self.database.settings(name).map_err(|error| failed(&error))?;
        let wanted = settings(&options);
        if let Some(kept) = kept.filter(|kept| waiting > 0 && *kept != wanted) {
            let message = format!(
                "the journal keeps {waiting} events of the channel `{name}` under `{kept}`, and the channel has `{wanted}` now: \
                 deliver them under their settings first"
            );
            return Err(StoreError(message));
        }
        self.database
            .set_settings(name, &wanted)
            .map_err(|error| failed(&error))?;
        Ok(Channel {
            options,
            takers: VecDeque::new(),
            waiting,
            dropped: 0,
            turn: 0,
        })
    }
}

impl Channel {
    fn partitions(&self) -> u16 {
        match self.options.order {
            Order::Key(_) => self.options.partitions.max(1),
            Order::Channel | Order::None => 1,
        }
    }
}

/// Whether the result has to survive a machine that loses power.
fn needs_disk(operation: &Operation) -> bool {
    matches!(operation, Operation::Record(..) | Operation::SettleDead { .. })
}

fn size(operation: &Operation) -> usize {
    match operation {
        Operation::Record(event, _) => event.payload.data().len(),
        _ => 0,
    }
}

/// What the partitions of events follow from.
fn settings(options: &DurableOptions) -> String {
    match &options.order {
        Order::Key(key) => format!("order = \"key\", key = \"{key}\", partitions = {}", options.partitions),
        Order::Channel | Order::None => "no key".to_owned(),
    }
}
