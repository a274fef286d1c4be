//! The resource `/events`: durable channels and their dead letters.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use axum::Json;
use axum::extract::{Path, Query, State};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::StatusCode;
use pointwork::{DeadLetter, DurableFigures, EventStore, StoreError, StoreFigures};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::problem::Problem;
use crate::state::{Shared, SharedState};

/// The most dead letters of one reply.
const MOST: usize = 1_000;

/// A durable channel with its figures.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    pub(crate) name: String,
    pub(crate) counted: DurableFigures,
    /// `None` if the store cannot tell.
    pub(crate) stored: Option<StoreFigures>,
}

/// Every durable channel.
pub(crate) async fn channels(admin: &SharedState) -> Vec<Channel> {
    let mut channels = Vec::new();
    for (name, counted) in admin.app.bus().durable_channels() {
        let stored = match admin.app.bus().event_store(&name) {
            Some(store) => store.figures(&name).await.ok(),
            None => None,
        };
        channels.push(Channel { name, counted, stored });
    }
    channels
}

pub(crate) async fn list(State(admin): State<Shared>) -> Json<Value> {
    let channels = channels(&admin).await;
    Json(channels.into_iter().map(report).collect())
}

fn report(channel: Channel) -> Value {
    let (counted, stored) = (channel.counted, channel.stored);
    json!({
        "channel": channel.name,
        "waiting": stored.map(|stored| stored.waiting),
        "lag-seconds": stored.map(|stored| stored.lag.as_secs_f64()),
        "dead-letters": stored.map(|stored| stored.dead),
        "dropped": stored.map(|stored| stored.dropped),
        "recorded": counted.recorded,
        "refused": counted.refused,
        "delivered": counted.delivered,
        "retried": counted.retried,
        "dead": counted.dead,
    })
}

/// Which dead letters are listed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Page {
    /// The id of the last one of the page before.
    after: Option<String>,
    most: Option<usize>,
}

pub(crate) async fn dead_letters(
    State(admin): State<Shared>,
    Path(channel): Path<String>,
    Query(page): Query<Page>,
) -> Result<Json<Value>, Problem> {
    let store = store(&admin, &channel)?;
    let most = page.most.unwrap_or(100).min(MOST);
    let letters = store
        .dead_letters(&channel, page.after.as_deref(), most)
        .await
        .map_err(failed)?;
    Ok(Json(letters.iter().map(summary).collect()))
}

pub(crate) async fn dead_letter(
    State(admin): State<Shared>,
    Path((channel, id)): Path<(String, String)>,
) -> Result<Json<Value>, Problem> {
    let letter = store(&admin, &channel)?
        .dead_letter(&channel, &id)
        .await
        .map_err(failed)?;
    let letter = letter.ok_or_else(|| unknown(&id))?;
    let mut shown = summary(&letter);
    let payload = &letter.event.payload;
    shown["content-type"] = payload.content_type().into();
    match payload.to::<Value>() {
        Ok(json) => shown["payload"] = json,
        Err(_) => shown["base64"] = BASE64_STANDARD.encode(payload.data()).into(),
    }
    Ok(Json(shown))
}

pub(crate) async fn retry(
    State(admin): State<Shared>,
    Path((channel, id)): Path<(String, String)>,
) -> Result<Json<Value>, Problem> {
    settle(&admin, &channel, &id, true).await
}

pub(crate) async fn discard(
    State(admin): State<Shared>,
    Path((channel, id)): Path<(String, String)>,
) -> Result<Json<Value>, Problem> {
    settle(&admin, &channel, &id, false).await
}

async fn settle(admin: &SharedState, channel: &str, id: &str, retry: bool) -> Result<Json<Value>, Problem> {
    let is_there = store(admin, channel)?
        .settle_dead(channel, id, retry)
        .await
        .map_err(failed)?;
    is_there.then(|| Json(json!({"id": id}))).ok_or_else(|| unknown(id))
}

fn summary(letter: &DeadLetter) -> Value {
    let since = letter.since.duration_since(UNIX_EPOCH).unwrap_or_default();
    json!({
        "id": letter.event.id,
        "channel": &*letter.event.channel,
        "event": letter.event.event,
        "attempts": letter.attempts,
        "reason": letter.reason,
        "since": u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        "request-id": letter.event.request_id,
        "traceparent": letter.event.traceparent,
        "bytes": letter.event.payload.data().len(),
    })
}

fn store(admin: &SharedState, channel: &str) -> Result<Arc<dyn EventStore>, Problem> {
    let bus = admin.app.bus();
    bus.event_store(channel).ok_or_else(|| {
        let channels = bus.durable_channels();
        let names: Vec<_> = channels.iter().map(|(name, _)| format!("`{name}`")).collect();
        let known = if names.is_empty() {
            "no channel is durable".to_owned()
        } else {
            format!("durable: {}", names.join(", "))
        };
        Problem::new(
            StatusCode::NOT_FOUND,
            format!("there is no durable channel `{channel}`; {known}"),
        )
    })
}

fn unknown(id: &str) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("no dead letter has the id `{id}`"))
}

fn failed(error: StoreError) -> Problem {
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
}
