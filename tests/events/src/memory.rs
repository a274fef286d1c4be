//! A store that keeps events in memory, and confirms or refuses as a test says.

#![expect(
    clippy::disallowed_methods,
    reason = "the store delivers events again after a pause, and has no clock: no test depends on the length of the pause"
)]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use pointwork::{
    DeadLetter, DurableOptions, EventStore, Hold, Order, Receipt, RecordedEvent, Settled, StoreError, StoreFigures,
    TakenEvent,
};

type BoxFuture<T> = std::pin::Pin<Box<dyn Future<Output = T> + Send>>;

/// The time between two looks for an event that is due.
const LOOK: Duration = Duration::from_millis(1);

/// What the store does with the events of the next emits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    /// It confirms at once.
    #[default]
    Confirms,
    /// It refuses at once.
    Refuses,
    /// It neither confirms nor refuses until [`Memory::answer`].
    Waits,
}

/// Cheap to clone; all clones are one store.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    mood: Mood,
    unanswered: Vec<(RecordedEvent, Receipt)>,
    channels: BTreeMap<String, Channel>,
}

#[derive(Default)]
struct Channel {
    options: Option<DurableOptions>,
    waiting: VecDeque<Waiting>,
    known: BTreeSet<String>,
    dead: Vec<DeadLetter>,
    dropped: u64,
}

struct Waiting {
    event: RecordedEvent,
    attempt: u32,
    due: Instant,
    is_taken: bool,
}

impl Memory {
    /// Sets what the store does with further events.
    pub fn set(&self, mood: Mood) {
        self.0.lock().mood = mood;
    }

    /// The number of events that wait for an answer.
    pub fn unanswered(&self) -> usize {
        self.0.lock().unanswered.len()
    }

    /// Answers the events that wait for an answer. Returns their number.
    pub fn answer(&self, confirms: bool) -> usize {
        let unanswered = std::mem::take(&mut self.0.lock().unanswered);
        let count = unanswered.len();
        for (event, receipt) in unanswered {
            if confirms {
                self.0.lock().keep(event);
                receipt.confirm();
            } else {
                receipt.refuse("the test refuses it");
            }
        }
        count
    }
}

impl State {
    fn keep(&mut self, event: RecordedEvent) {
        let channel = self.channels.entry(event.channel.to_string()).or_default();
        if channel.known.insert(event.id.clone()) {
            channel.wait(event);
        }
    }
}

impl State {
    fn dead(&self, channel: &str) -> &[DeadLetter] {
        let channel = self.channels.get(channel);
        channel.map(|channel| channel.dead.as_slice()).unwrap_or_default()
    }
}

impl Channel {
    fn wait(&mut self, event: RecordedEvent) {
        self.waiting.push_back(Waiting {
            event,
            attempt: 0,
            due: Instant::now(),
            is_taken: false,
        });
    }

    fn take(&mut self) -> Option<(RecordedEvent, u32)> {
        let is_ordered = self.options.as_ref().is_none_or(|options| options.order != Order::None);
        let (mut held_back, now) = (BTreeSet::new(), Instant::now());
        let found = self.waiting.iter_mut().find(|waiting| {
            let is_first = held_back.insert(waiting.event.partition) || !is_ordered;
            is_first && !waiting.is_taken && waiting.due <= now
        })?;
        found.is_taken = true;
        found.attempt += 1;
        Some((found.event.clone(), found.attempt))
    }

    fn settle(&mut self, id: &str, settled: Settled) {
        let Some(place) = self
            .waiting
            .iter()
            .position(|waiting| waiting.event.id == id && waiting.is_taken)
        else {
            return;
        };
        if let Settled::Retry(pause) = settled {
            let waiting = &mut self.waiting[place];
            (waiting.is_taken, waiting.due) = (false, Instant::now() + pause);
            return;
        }
        let Some(waiting) = self.waiting.remove(place) else {
            return;
        };
        if let Settled::Dead(reason) = settled {
            self.dead.push(DeadLetter {
                event: waiting.event,
                attempts: waiting.attempt,
                reason,
                since: SystemTime::now(),
            });
            let most = self
                .options
                .as_ref()
                .map_or(usize::MAX, |options| options.dead_letters as usize);
            while self.dead.len() > most {
                self.dead.remove(0);
                self.dropped += 1;
            }
        }
    }
}

struct Place {
    store: Memory,
    channel: String,
    id: String,
    is_settled: bool,
}

impl Place {
    fn settled(&mut self, settled: Settled) {
        if !std::mem::replace(&mut self.is_settled, true)
            && let Some(channel) = self.store.0.lock().channels.get_mut(&self.channel)
        {
            channel.settle(&self.id, settled);
        }
    }
}

impl Hold for Place {
    fn settle(mut self: Box<Self>, settled: Settled) -> BoxFuture<Result<(), StoreError>> {
        self.settled(settled);
        Box::pin(std::future::ready(Ok(())))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.settled(Settled::Retry(Duration::ZERO));
    }
}

impl EventStore for Memory {
    fn open(&self, channel: &Arc<str>, options: &DurableOptions) -> Result<(), StoreError> {
        let mut state = self.0.lock();
        state.channels.entry(channel.to_string()).or_default().options = Some(options.clone());
        Ok(())
    }

    fn record(&self, event: RecordedEvent, receipt: Receipt) {
        let mut state = self.0.lock();
        let is_kept = match state.mood {
            Mood::Waits => return state.unanswered.push((event, receipt)),
            Mood::Confirms => {
                state.keep(event);
                true
            }
            Mood::Refuses => false,
        };
        drop(state);
        if is_kept {
            receipt.confirm();
        } else {
            receipt.refuse("the test refuses it");
        }
    }

    fn take(&self, channel: &str) -> BoxFuture<Result<TakenEvent, StoreError>> {
        let (store, channel) = (self.clone(), channel.to_owned());
        Box::pin(async move {
            loop {
                let taken = store.0.lock().channels.entry(channel.clone()).or_default().take();
                if let Some((event, attempt)) = taken {
                    let hold = Place {
                        store: store.clone(),
                        channel,
                        id: event.id.clone(),
                        is_settled: false,
                    };
                    return Ok(TakenEvent {
                        event,
                        attempt,
                        hold: Box::new(hold),
                    });
                }
                tokio::time::sleep(LOOK).await;
            }
        })
    }

    fn figures(&self, channel: &str) -> BoxFuture<Result<StoreFigures, StoreError>> {
        let state = self.0.lock();
        let channel = state.channels.get(channel);
        let figures = channel.map_or_else(StoreFigures::default, |channel| StoreFigures {
            waiting: channel.waiting.len() as u64,
            dead: channel.dead.len() as u64,
            dropped: channel.dropped,
            lag: Duration::ZERO,
        });
        Box::pin(std::future::ready(Ok(figures)))
    }

    fn dead_letters(
        &self,
        channel: &str,
        after: Option<&str>,
        most: usize,
    ) -> BoxFuture<Result<Vec<DeadLetter>, StoreError>> {
        let state = self.0.lock();
        let dead = state.dead(channel);
        let first = after.and_then(|after| dead.iter().position(|letter| letter.event.id == after));
        let page = dead.iter().skip(first.map_or(0, |first| first + 1)).take(most).cloned();
        Box::pin(std::future::ready(Ok(page.collect())))
    }

    fn dead_letter(&self, channel: &str, id: &str) -> BoxFuture<Result<Option<DeadLetter>, StoreError>> {
        let state = self.0.lock();
        let dead = state.dead(channel);
        let letter = dead.iter().find(|letter| letter.event.id == id).cloned();
        Box::pin(std::future::ready(Ok(letter)))
    }

    fn settle_dead(&self, channel: &str, id: &str, retry: bool) -> BoxFuture<Result<bool, StoreError>> {
        let mut state = self.0.lock();
        let letter = state.channels.get_mut(channel).and_then(|channel| {
            let place = channel.dead.iter().position(|letter| letter.event.id == id)?;
            let letter = channel.dead.remove(place);
            if retry {
                channel.wait(letter.event.clone());
            }
            Some(letter)
        });
        Box::pin(std::future::ready(Ok(letter.is_some())))
    }
}
