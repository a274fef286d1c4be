//! A durable channel in the server: its streams and consumers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{AckPolicy, PullConsumer, pull};
use async_nats::jetstream::context::{GetStreamErrorKind, PublishErrorKind};
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RawMessage, RetentionPolicy, Stream};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pointwork_core::{DurableOptions, Order, Payload, RecordedEvent, StoreError};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::connection::Connection;
use crate::envelope;
use crate::names::Names;

/// The time after which an event whose process has ended is given out again: three signs that a listener runs are missing.
pub(crate) const ACK_WAIT: Duration = Duration::from_secs(15);

/// The time between two attempts to publish an event.
const PAUSE: Duration = Duration::from_millis(200);

/// The events that are looked at for one that cannot be read.
const MOST_LOOKED_AT: usize = 1_000;

const ORDER: &str = "pointwork-order";
const PARTITIONS: &str = "pointwork-partitions";

pub(crate) struct Channel {
    pub(crate) connection: Connection,
    pub(crate) name: Arc<str>,
    pub(crate) names: Names,
    pub(crate) options: DurableOptions,
    streams: Mutex<Option<Arc<Streams>>>,
    dropped: AtomicU64,
}

/// The streams of a channel.
pub(crate) struct Streams {
    pub(crate) events: Stream,
    pub(crate) dead: Stream,
}

/// Why the streams of a channel are not ready.
pub(crate) enum Unready {
    /// The server cannot be reached, or does not answer: it may later.
    Away(String),
    /// A stream has other settings.
    Differs(String),
}

impl Unready {
    pub(crate) fn into_message(self) -> String {
        match self {
            Self::Away(message) | Self::Differs(message) => message,
        }
    }
}

impl Channel {
    pub(crate) fn new(connection: Connection, name: Arc<str>, options: DurableOptions) -> Self {
        Self {
            names: Names::new(&connection.prefix, &name),
            connection,
            name,
            options,
            streams: Mutex::default(),
            dropped: AtomicU64::new(0),
        }
    }

    /// The streams of the channel. The first call that reaches the server makes those that are missing.
    pub(crate) async fn streams(&self) -> Result<Arc<Streams>, Unready> {
        let mut known = self.streams.lock().await;
        if let Some(known) = &*known {
            return Ok(known.clone());
        }
        let events = self.stream(self.events_config()).await?;
        let dead = self.stream(self.dead_config()).await?;
        Ok(known.insert(Arc::new(Streams { events, dead })).clone())
    }

    /// Looks for the streams anew: somebody may have deleted one.
    pub(crate) async fn forget_streams(&self) {
        *self.streams.lock().await = None;
    }

    /// The time until which an event that is recorded now has to be acknowledged.
    pub(crate) fn confirm_until(&self) -> Instant {
        self.connection.timers.now() + self.options.confirm
    }

    fn partitions(&self) -> u16 {
        match &self.options.order {
            Order::Key(_) => self.options.partitions.max(1),
            Order::Channel | Order::None => 1,
        }
    }

    fn events_config(&self) -> Config {
        let order = match &self.options.order {
            Order::Channel => "channel".to_owned(),
            Order::Key(key) => format!("key {key}"),
            Order::None => "none".to_owned(),
        };
        Config {
            name: self.names.stream(),
            subjects: vec![self.names.subjects()],
            retention: RetentionPolicy::WorkQueue,
            discard: DiscardPolicy::New,
            duplicate_window: self.options.duplicates,
            metadata: HashMap::from([
                (ORDER.to_owned(), order),
                (PARTITIONS.to_owned(), self.partitions().to_string()),
            ]),
            ..Config::default()
        }
    }

    fn dead_config(&self) -> Config {
        Config {
            name: self.names.dead_stream(),
            subjects: vec![self.names.dead_subjects()],
            discard: DiscardPolicy::Old,
            max_messages: i64::from(self.options.dead_letters),
            max_messages_per_subject: 1,
            allow_direct: true,
            ..Config::default()
        }
    }

    /// The stream with these settings. Those of the machines, such as its replicas and its size, are the operator's.
    async fn stream(&self, wanted: Config) -> Result<Stream, Unready> {
        let away = |error: &dyn std::fmt::Display| Unready::Away(format!("the stream `{}`: {error}", wanted.name));
        let found = match self.connection.jetstream.get_stream(&wanted.name).await {
            Ok(found) => found,
            Err(error) if is_missing(&error) => {
                let made = self.connection.jetstream.create_stream(wanted.clone()).await;
                let made = made.map_err(|error| away(&error))?;
                tracing::info!(channel = &*self.name, "the stream `{}` is made", wanted.name);
                made
            }
            Err(error) => return Err(away(&error)),
        };
        let differences = differences(&wanted, &found.cached_info().config);
        if differences.is_empty() {
            return Ok(found);
        }
        Err(Unready::Differs(format!(
            "the stream `{}` has other settings: {}",
            wanted.name,
            differences.join("; ")
        )))
    }

    /// The consumer of a partition; of `None`, the one of all events.
    pub(crate) async fn consumer(&self, partition: Option<u16>) -> Result<PullConsumer, Unready> {
        let streams = self.streams().await?;
        let name = Names::consumer(partition);
        let config = pull::Config {
            durable_name: Some(name.clone()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: ACK_WAIT,
            filter_subject: partition.map_or_else(|| self.names.subjects(), |partition| self.names.subject(partition)),
            max_ack_pending: match self.options.order {
                Order::Channel | Order::Key(_) => 1,
                Order::None => -1,
            },
            ..pull::Config::default()
        };
        let made = streams.events.get_or_create_consumer(&name, config).await;
        made.map_err(|error| Unready::Away(format!("the consumer `{name}`: {error}")))
    }

    /// Publishes an event until the server has acknowledged it, or that time is over. `id` is that by which the server knows a second
    /// publish.
    pub(crate) async fn publish(&self, event: &RecordedEvent, id: &str, until: Instant) -> Result<(), String> {
        // A stranger may have named another one.
        let subject = self.names.subject(event.partition % self.partitions());
        let mut failed = "other events wait for the server".to_owned();
        let timers = &self.connection.timers;
        while timers.now() < until {
            match self.publish_once(event, subject.clone(), id).await {
                Ok(()) => return Ok(()),
                Err(Refusal::Final(reason)) => return Err(reason),
                Err(Refusal::MayPass(reason)) => failed = reason,
            }
            timers.sleep_until(until.min(timers.now() + PAUSE)).await;
        }
        Err(failed)
    }

    /// Keeps a dead letter. Another one of its id is replaced.
    pub(crate) async fn bury(&self, event: &RecordedEvent, attempts: u32, reason: &str) -> Result<(), StoreError> {
        let failed = |error: &dyn std::fmt::Display| StoreError(format!("the dead letter is not kept: {error}"));
        let streams = self.streams().await;
        let dead = &streams.map_err(|unready| StoreError(unready.into_message()))?.dead;
        let before = dead.get_info().await.map_err(|error| failed(&error))?.state.messages;
        let subject = self.names.dead_subject(&event.id);
        let message = PublishMessage::build()
            .headers(envelope::dead_headers(event, attempts, reason))
            .payload(event.payload.data().to_vec().into());
        let published = self.connection.jetstream.send_publish(subject, message).await;
        published
            .map_err(|error| failed(&error))?
            .await
            .map_err(|error| failed(&error))?;
        if before >= u64::from(self.options.dead_letters) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Makes dead letters of the events that a consumer has given out and whose headers cannot be read: the client ends the connection
    /// at each of them.
    pub(crate) async fn bury_unreadable(&self, consumer: &PullConsumer, partition: u16) -> Result<(), StoreError> {
        let failed = |error: &dyn std::fmt::Display| StoreError(format!("an unreadable event stays: {error}"));
        let streams = self.streams().await;
        let events = &streams.map_err(|unready| StoreError(unready.into_message()))?.events;
        let info = consumer.get_info().await.map_err(|error| failed(&error))?;
        let given_out = info.ack_floor.stream_sequence + 1..=info.delivered.stream_sequence;
        for sequence in given_out.take(MOST_LOOKED_AT) {
            let get = format!("STREAM.MSG.GET.{}", self.names.stream());
            let answer = self.connection.jetstream.request(get, &json!({"seq": sequence})).await;
            let mut answer: Value = answer.map_err(|error| failed(&error))?;
            let message = answer.get_mut("message").map(Value::take).unwrap_or_default();
            // The stream has no such message any more: the event has ended.
            let Ok(raw) = serde_json::from_value::<RawMessage>(message) else {
                continue;
            };
            let data = STANDARD.decode(&raw.payload).unwrap_or_default();
            if StreamMessage::try_from(raw).is_ok() {
                continue;
            }
            let event = RecordedEvent {
                id: format!("{}:unreadable:{sequence}", self.name),
                channel: self.name.clone(),
                event: "unreadable".to_owned(),
                payload: Payload::new("application/octet-stream".to_owned(), data),
                depth: 1,
                request_id: None,
                traceparent: None,
                partition,
            };
            self.bury(&event, 1, "its headers cannot be read").await?;
            events.delete_message(sequence).await.map_err(|error| failed(&error))?;
            tracing::error!(
                channel = &*self.name,
                "the event `{}` is a dead letter: its headers cannot be read",
                event.id
            );
        }
        Ok(())
    }

    /// The dead letters that went since the start, because there were too many.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    async fn publish_once(&self, event: &RecordedEvent, subject: String, id: &str) -> Result<(), Refusal> {
        if !self.connection.is_connected() {
            return Err(Refusal::MayPass("no server of NATS is connected".to_owned()));
        }
        self.streams().await.map_err(|unready| match unready {
            Unready::Away(reason) => Refusal::MayPass(reason),
            Unready::Differs(reason) => Refusal::Final(reason),
        })?;
        let message = PublishMessage::build()
            .headers(envelope::headers(event))
            .message_id(id)
            .payload(event.payload.data().to_vec().into());
        let refusal = |error: async_nats::jetstream::context::PublishError| match error.kind() {
            PublishErrorKind::TimedOut | PublishErrorKind::BrokenPipe | PublishErrorKind::StreamNotFound => {
                Refusal::MayPass(error.to_string())
            }
            _ => Refusal::Final(error.to_string()),
        };
        let published = self
            .connection
            .jetstream
            .send_publish(subject, message)
            .await
            .map_err(refusal)?;
        let kept = published.await;
        if let Err(error) = &kept
            && error.kind() == PublishErrorKind::StreamNotFound
        {
            self.forget_streams().await;
        }
        kept.map(drop).map_err(refusal)
    }
}

enum Refusal {
    MayPass(String),
    Final(String),
}

fn is_missing(error: &async_nats::jetstream::context::GetStreamError) -> bool {
    use async_nats::jetstream::ErrorCode;
    matches!(error.kind(), GetStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NOT_FOUND)
}

/// What differs in the settings that the promises rest on.
fn differences(wanted: &Config, found: &Config) -> Vec<String> {
    let mut differences = Vec::new();
    let mut compare = |what: &str, wanted: String, found: String| {
        if wanted != found {
            differences.push(format!("`{what}` is {found}, expected {wanted}"));
        }
    };
    compare("subjects", wanted.subjects.join(", "), found.subjects.join(", "));
    compare(
        "retention",
        format!("{:?}", wanted.retention),
        format!("{:?}", found.retention),
    );
    compare(
        "discard",
        format!("{:?}", wanted.discard),
        format!("{:?}", found.discard),
    );
    if wanted.retention == RetentionPolicy::WorkQueue {
        let window = |config: &Config| format!("{:?}", config.duplicate_window);
        compare("duplicates", window(wanted), window(found));
    } else {
        compare(
            "dead-letters",
            wanted.max_messages.to_string(),
            found.max_messages.to_string(),
        );
    }
    for (name, key) in [("order", ORDER), ("partitions", PARTITIONS)] {
        let of = |config: &Config| config.metadata.get(key).cloned().unwrap_or_else(|| "none".to_owned());
        compare(name, of(wanted), of(found));
    }
    differences
}
