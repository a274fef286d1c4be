//! Pulls the events of a channel, as many as are asked for.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::message::Acker;
use async_nats::jetstream::{AckKind, Message};
use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use pointwork_core::{BoxFuture, Hold, Order, RecordedEvent, Settled, StoreError, TakenEvent};
use tokio::sync::{Notify, oneshot};
use tokio_util::context::TokioContext;

use crate::channel::{ACK_WAIT, Channel};
use crate::envelope;

/// How long the server may wait for an event before it answers that there is none.
const EXPIRES: Duration = Duration::from_secs(20);

/// The time until the next try after the server could not be asked.
const PAUSE: Duration = Duration::from_secs(1);

/// After that many cut connections one after the other it is looked whether an event cannot be read.
const SUSPICIOUS: u32 = 2;

type Taker = oneshot::Sender<Result<TakenEvent, StoreError>>;

/// Who waits for an event of a channel.
#[derive(Default)]
pub(crate) struct Takers {
    waiting: Mutex<Waiting>,
    changed: Notify,
}

#[derive(Default)]
struct Waiting {
    takers: VecDeque<Taker>,
    /// The requests to the server whose events have a taker.
    fetching: usize,
}

impl Takers {
    /// The next event that comes.
    pub(crate) fn take(self: Arc<Self>) -> impl Future<Output = Result<TakenEvent, StoreError>> + Send {
        let (taker, taken) = oneshot::channel();
        self.waiting.lock().takers.push_back(taker);
        self.changed.notify_waiters();
        let gone = Gone(self);
        async move {
            let ended = |_| StoreError("the store has ended".to_owned());
            let taken = taken.await.map_err(ended)?;
            drop(gone);
            taken
        }
    }

    /// Whether one more event has a taker; if so, it is reserved.
    fn reserve(&self) -> bool {
        let mut waiting = self.waiting.lock();
        let is_free = waiting.count() > waiting.fetching;
        waiting.fetching += usize::from(is_free);
        is_free
    }

    /// Completes when a reservation has no taker any more, which ends the reservation.
    async fn unwanted(&self) {
        loop {
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            {
                let mut waiting = self.waiting.lock();
                if waiting.count() < waiting.fetching {
                    waiting.fetching -= 1;
                    return;
                }
            }
            changed.await;
        }
    }

    /// Ends a reservation, and hands what came to a taker; what nobody takes is given back.
    fn hand_over(&self, came: Option<Result<TakenEvent, StoreError>>) {
        let mut waiting = self.waiting.lock();
        waiting.fetching -= 1;
        let Some(mut came) = came else { return };
        while let Some(taker) = waiting.takers.pop_front() {
            match taker.send(came) {
                Ok(()) => return,
                Err(back) => came = back,
            }
        }
    }
}

impl Waiting {
    /// The number of takers.
    fn count(&mut self) -> usize {
        self.takers.retain(|taker| !taker.is_closed());
        self.takers.len()
    }
}

/// Tells the lanes that a taker is gone.
struct Gone(Arc<Takers>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.changed.notify_waiters();
    }
}

/// Pulls the events of one partition, of `None` those of all, one at a time, until the channel is dropped.
pub(crate) async fn run(channel: Weak<Channel>, takers: Arc<Takers>, partition: Option<u16>) {
    let mut known = None;
    let mut cuts = 0;
    loop {
        let mut changed = pin!(takers.changed.notified());
        changed.as_mut().enable();
        if !takers.reserve() {
            changed.await;
        } else if let Some(channel) = channel.upgrade() {
            let made = channel.connection.count_made();
            let came = match select(pin!(next(&channel, partition, &mut known)), pin!(takers.unwanted())).await {
                Either::Left((came, _)) => came.transpose(),
                Either::Right(((), _)) => continue,
            };
            let is_cut = made != channel.connection.count_made();
            cuts = if is_cut { cuts + 1 } else { 0 };
            if cuts >= SUSPICIOUS
                && let Some(consumer) = &known
            {
                cuts = 0;
                if let Err(error) = channel.bury_unreadable(consumer, partition.unwrap_or_default()).await {
                    tracing::debug!(channel = &*channel.name, "{error}");
                }
            }
            if let Some(Err(error)) = came {
                // Somebody may have deleted it, or its stream.
                known = None;
                channel.forget_streams().await;
                channel.connection.timers.sleep(PAUSE).await;
                // Without a connection there is nothing to tell: it was told that the connection is lost.
                let is_lost = !channel.connection.is_connected() || made != channel.connection.count_made();
                takers.hand_over((!is_lost).then_some(Err(error)));
            } else {
                takers.hand_over(came);
            }
        }
        if channel.strong_count() == 0 {
            return;
        }
    }
}

/// The lanes of a channel: each has a consumer, or all share one.
pub(crate) fn partitions(order: &Order, lanes: u16) -> Vec<Option<u16>> {
    match order {
        Order::None => vec![None; lanes.into()],
        Order::Channel | Order::Key(_) => (0..lanes).map(Some).collect(),
    }
}

/// The next event, or nothing if there was none for a while, or the server does not know any more that it was asked.
async fn next(
    channel: &Arc<Channel>,
    partition: Option<u16>,
    known: &mut Option<PullConsumer>,
) -> Result<Option<TakenEvent>, StoreError> {
    let failed = |error: &dyn std::fmt::Display| StoreError(format!("the server gives no event out: {error}"));
    let made = channel.connection.next_made();
    let consumer = match known {
        Some(consumer) => consumer,
        None => {
            let found = channel.consumer(partition).await;
            known.insert(found.map_err(|unready| StoreError(unready.into_message()))?)
        }
    };
    let batch = consumer.batch().max_messages(1).expires(EXPIRES).messages().await;
    let mut batch = batch.map_err(|error| failed(&error))?;
    match select(batch.next(), pin!(made)).await {
        Either::Left((message, _)) => {
            let message = message.transpose().map_err(|error| failed(&error))?;
            Ok(message.map(|message| taken(channel, message, partition)))
        }
        Either::Right(((), _)) => Ok(None),
    }
}

fn taken(channel: &Arc<Channel>, message: Message, partition: Option<u16>) -> TakenEvent {
    let info = message.info().ok().map(|info| (info.delivered, info.stream_sequence));
    let (attempt, sequence) = info.unwrap_or((1, 0));
    let (message, acker) = message.split();
    let headers = message.headers.unwrap_or_default();
    let event = envelope::event(
        &channel.name,
        &headers,
        message.payload,
        sequence,
        partition.unwrap_or_default(),
    );
    let attempt = u32::try_from(attempt).unwrap_or(u32::MAX);
    let place = Place {
        channel: channel.clone(),
        event: event.clone(),
        attempt,
        acker: Some(Arc::new(acker)),
    };
    TakenEvent {
        event,
        attempt,
        hold: Box::new(place),
    }
}

/// The place of an event in the server.
struct Place {
    channel: Arc<Channel>,
    event: RecordedEvent,
    attempt: u32,
    /// `None` once it is settled.
    acker: Option<Arc<Acker>>,
}

impl Place {
    /// Tells the server how an attempt ended.
    async fn tell(&self, acker: &Acker, settled: &Settled) -> Result<(), StoreError> {
        let kind = match settled {
            Settled::Done => AckKind::Ack,
            Settled::Retry(pause) => AckKind::Nak(Some(*pause)),
            Settled::Dead(reason) => {
                // Before the event ends, so that it is never in neither place.
                self.channel.bury(&self.event, self.attempt, reason).await?;
                AckKind::Ack
            }
        };
        let told = acker.double_ack_with(kind).await;
        told.map_err(|error| StoreError(format!("the server did not answer: {error}")))
    }

    fn spawn(&self, acker: Arc<Acker>, kind: AckKind) {
        self.channel.connection.runtime.spawn(async move {
            if let Err(error) = acker.ack_with(kind).await {
                tracing::debug!("the server was not told of an event: {error}");
            }
        });
    }
}

impl Hold for Place {
    fn extend(&self) {
        if let Some(acker) = &self.acker {
            self.spawn(acker.clone(), AckKind::Progress);
        }
    }

    fn settle(mut self: Box<Self>, settled: Settled) -> BoxFuture<'static, Result<(), StoreError>> {
        let (acker, runtime) = (self.acker.take(), self.channel.connection.runtime.clone());
        let settle = async move {
            let Some(acker) = acker else { return Ok(()) };
            // Past this the server gives the event out again anyway.
            let timers = &self.channel.connection.timers;
            let until = timers.now() + ACK_WAIT;
            loop {
                match self.tell(&acker, &settled).await {
                    Err(_) if timers.now() < until => timers.sleep(PAUSE).await,
                    told => return told,
                }
            }
        };
        Box::pin(TokioContext::new(settle, runtime))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(acker) = self.acker.take() {
            self.spawn(acker, AckKind::Nak(None));
        }
    }
}
