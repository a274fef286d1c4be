//! The store of durable channels.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_nats::jetstream::stream::{DeleteMessageErrorKind, LastRawMessageErrorKind, Stream};
use parking_lot::RwLock;
use pointwork_core::{
    BoxFuture, DeadLetter, DurableOptions, EventStore, Receipt, RecordedEvent, StoreError, StoreFigures, TakenEvent,
};
use tokio_util::context::TokioContext;

use crate::channel::{Channel, Unready};
use crate::connection::{Connection, block_on};
use crate::envelope;
use crate::lane::{self, Takers};
use crate::publishers::Publishers;

/// How long the start waits for the server. Without one it goes on.
const START: Duration = Duration::from_secs(5);

/// Keeps the events of durable channels in JetStream.
pub struct NatsStore {
    connection: Connection,
    channels: RwLock<BTreeMap<String, Opened>>,
}

#[derive(Clone)]
struct Opened {
    channel: Arc<Channel>,
    takers: Arc<Takers>,
    publishers: Publishers,
}

impl NatsStore {
    /// A store in the servers of the connection.
    pub fn new(connection: Connection) -> Self {
        Self {
            connection,
            channels: RwLock::default(),
        }
    }

    fn opened(&self, name: &str) -> Result<Opened, StoreError> {
        let found = self.channels.read().get(name).cloned();
        found.ok_or_else(|| StoreError(format!("the channel `{name}` is not open")))
    }

    fn channel(&self, name: &str) -> Result<Arc<Channel>, StoreError> {
        self.opened(name).map(|opened| opened.channel)
    }

    /// Work with the timers of the connection's runtime: whoever waits may be on none.
    fn on_runtime<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        Box::pin(TokioContext::new(work, self.connection.runtime.clone()))
    }
}

impl std::fmt::Debug for NatsStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsStore").finish_non_exhaustive()
    }
}

impl EventStore for NatsStore {
    fn open(&self, channel: &Arc<str>, options: &DurableOptions) -> Result<(), StoreError> {
        let opened = Arc::new(Channel::new(self.connection.clone(), channel.clone(), options.clone()));
        let runtime = self.connection.runtime.clone();
        let ready = self.connection.timers.timeout(START, opened.streams());
        match block_on(&runtime, ready) {
            Some(Err(Unready::Differs(differences))) => return Err(StoreError(differences)),
            Some(Ok(_)) => {}
            Some(Err(Unready::Away(reason))) => {
                tracing::warn!(channel = &**channel, "NATS: {reason}; until then each emit is refused");
            }
            None => tracing::warn!(
                channel = &**channel,
                "no server of NATS answers; until then each emit is refused"
            ),
        }
        let takers = Arc::<Takers>::default();
        for partition in lane::partitions(&options.order, options.lanes()) {
            runtime.spawn(lane::run(Arc::downgrade(&opened), takers.clone(), partition));
        }
        let publishers = Publishers::new(&opened);
        let opened = Opened {
            channel: opened,
            takers,
            publishers,
        };
        self.channels.write().insert(channel.to_string(), opened);
        Ok(())
    }

    fn record(&self, event: RecordedEvent, receipt: Receipt) {
        match self.opened(&event.channel) {
            Ok(opened) => opened
                .publishers
                .publish(event, receipt, opened.channel.confirm_until()),
            Err(error) => receipt.refuse(error.0),
        }
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn take(&self, channel: &str) -> BoxFuture<'static, Result<TakenEvent, StoreError>> {
        match self.opened(channel) {
            Ok(opened) => Box::pin(opened.takers.take()),
            Err(error) => Box::pin(ready(Err(error))),
        }
    }

    fn figures(&self, channel: &str) -> BoxFuture<'static, Result<StoreFigures, StoreError>> {
        let channel = self.channel(channel);
        self.on_runtime(async move {
            let channel = channel?;
            let streams = channel.streams().await.map_err(unready)?;
            let info = streams.events.get_info().await.map_err(away)?;
            let first = SystemTime::from(info.state.first_timestamp);
            let lag = match info.state.messages {
                0 => Duration::ZERO,
                _ => first.elapsed().unwrap_or_default(),
            };
            Ok(StoreFigures {
                waiting: info.state.messages,
                dead: streams.dead.get_info().await.map_err(away)?.state.messages,
                dropped: channel.dropped(),
                lag,
            })
        })
    }

    fn dead_letters(
        &self,
        channel: &str,
        after: Option<&str>,
        most: usize,
    ) -> BoxFuture<'static, Result<Vec<DeadLetter>, StoreError>> {
        let (channel, after) = (self.channel(channel), after.map(str::to_owned));
        self.on_runtime(async move {
            let channel = channel?;
            let streams = channel.streams().await.map_err(unready)?;
            let dead = &streams.dead;
            let mut sequence = match after {
                Some(id) => last(dead, &channel.names.dead_subject(&id))
                    .await?
                    .map_or(0, |found| found.sequence),
                None => 0,
            };
            let mut letters = Vec::new();
            while letters.len() < most {
                let next = dead
                    .get_first_raw_message_by_subject(channel.names.dead_subjects(), sequence + 1)
                    .await;
                let message = match next {
                    Ok(message) => message,
                    Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => break,
                    Err(error) => return Err(away(error)),
                };
                sequence = message.sequence;
                letters.push(letter(&channel, message));
            }
            Ok(letters)
        })
    }

    fn dead_letter(&self, channel: &str, id: &str) -> BoxFuture<'static, Result<Option<DeadLetter>, StoreError>> {
        let (channel, id) = (self.channel(channel), id.to_owned());
        self.on_runtime(async move {
            let channel = channel?;
            let streams = channel.streams().await.map_err(unready)?;
            let dead = &streams.dead;
            let found = last(dead, &channel.names.dead_subject(&id)).await?;
            Ok(found.map(|message| letter(&channel, message)))
        })
    }

    fn settle_dead(&self, channel: &str, id: &str, retry: bool) -> BoxFuture<'static, Result<bool, StoreError>> {
        let (channel, id) = (self.channel(channel), id.to_owned());
        self.on_runtime(async move {
            let channel = channel?;
            let streams = channel.streams().await.map_err(unready)?;
            let dead = &streams.dead;
            let Some(message) = last(dead, &channel.names.dead_subject(&id)).await? else {
                return Ok(false);
            };
            let sequence = message.sequence;
            if retry {
                let event = letter(&channel, message).event;
                // The server knows the id of the first publish still; this one is made once for each dead letter.
                let known = format!("{}#{sequence}", envelope::id(&event));
                let published = channel.publish(&event, &known, channel.confirm_until()).await;
                published.map_err(StoreError)?;
            }
            match dead.delete_message(sequence).await {
                Ok(deleted) => Ok(deleted),
                // Another one of its id, or another command, came before.
                Err(error) if matches!(error.kind(), DeleteMessageErrorKind::JetStream(_)) => Ok(false),
                Err(error) => Err(away(error)),
            }
        })
    }
}

type StreamMessage = async_nats::jetstream::message::StreamMessage;

async fn last(stream: &Stream, subject: &str) -> Result<Option<StreamMessage>, StoreError> {
    match stream.get_last_raw_message_by_subject(subject).await {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(away(error)),
    }
}

fn letter(channel: &Channel, message: StreamMessage) -> DeadLetter {
    let (attempts, reason) = envelope::of_dead(&message.headers);
    DeadLetter {
        event: envelope::event(
            &channel.name,
            &message.headers,
            message.payload,
            message.sequence,
            envelope::partition(&message.headers),
        ),
        attempts,
        reason,
        since: message.time.into(),
    }
}

fn unready(unready: Unready) -> StoreError {
    StoreError(unready.into_message())
}

fn away(error: impl std::fmt::Display) -> StoreError {
    StoreError(format!("the server did not answer: {error}"))
}
