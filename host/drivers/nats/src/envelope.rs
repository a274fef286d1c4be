//! An event or a call as a message: CloudEvents 1.0 in binary mode, the payload as it is; and the answer to a call.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use async_nats::HeaderMap;
use bytes::Bytes;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use pointwork_core::http::StatusCode;
use pointwork_core::{Failure, FailureCode, Payload, RecordedEvent};
use serde::Deserialize;
use serde_json::{Map, Value, json};

const ID: &str = "ce-id";
const EVENT: &str = "ce-type";
const CONTENT_TYPE: &str = "content-type";
const DEPTH: &str = "ce-depth";
const REQUEST: &str = "ce-requestid";
const PARTITION: &str = "ce-partition";
const ATTEMPTS: &str = "ce-attempts";
const REASON: &str = "ce-reason";
const TIME: &str = "ce-time-left";
const TRACEPARENT: &str = "traceparent";
const CODE: &str = "pointwork-code";
const STATUS: &str = "pointwork-status";

const UNKNOWN_TYPE: &str = "application/octet-stream";

/// The longest value of a header, in bytes: a stranger may have written it.
const MAX_VALUE: usize = 12 * 1024;

/// The longest id, in bytes: it becomes a subject, which the server bounds. A longer one is a stranger's.
const MAX_ID: usize = 768;

/// The longest reason of a dead letter, in bytes.
const MAX_REASON: usize = 4 * 1024;

/// What CloudEvents encodes in a header. A line break would end the header, and spaces at its end are dropped.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'%');

/// The headers of an event.
pub(crate) fn headers(event: &RecordedEvent) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert("ce-specversion", "1.0");
    headers.insert("ce-source", "pointwork");
    headers.insert(ID, id(event));
    headers.insert(EVENT, encoded(&format!("{}:{}", event.channel, event.event)));
    headers.insert(CONTENT_TYPE, one_line(event.payload.content_type()));
    headers.insert(DEPTH, event.depth.to_string());
    headers.insert(PARTITION, event.partition.to_string());
    for (name, value) in [(REQUEST, &event.request_id), (TRACEPARENT, &event.traceparent)] {
        if let Some(value) = value {
            headers.insert(name, encoded(value));
        }
    }
    headers
}

/// The id of an event, as the server knows it.
pub(crate) fn id(event: &RecordedEvent) -> String {
    encoded(&event.id)
}

/// The headers of a dead letter.
pub(crate) fn dead_headers(event: &RecordedEvent, attempts: u32, reason: &str) -> HeaderMap {
    let mut headers = headers(event);
    headers.insert(ATTEMPTS, attempts.to_string());
    headers.insert(REASON, encoded(&reason[..reason.floor_char_boundary(MAX_REASON)]));
    headers
}

/// The attempts and the reason of a dead letter.
pub(crate) fn of_dead(headers: &HeaderMap) -> (u32, String) {
    let attempts = value(headers, ATTEMPTS).and_then(|text| text.parse().ok());
    (
        attempts.unwrap_or_default(),
        attribute(headers, REASON).unwrap_or_default(),
    )
}

/// The event in a message, for a partition. What a stranger left out gets a value that cannot be taken for another event; an id has the
/// channel before it.
pub(crate) fn event(
    channel: &Arc<str>,
    headers: &HeaderMap,
    payload: Bytes,
    sequence: u64,
    partition: u16,
) -> RecordedEvent {
    let full = attribute(headers, EVENT).unwrap_or_default();
    let own = full
        .strip_prefix(&**channel)
        .and_then(|rest| rest.strip_prefix(':'))
        .unwrap_or(&full);
    let id = attribute(headers, ID).filter(|id| id.len() <= MAX_ID && !id.is_empty());
    let id = id.unwrap_or_else(|| sequence.to_string());
    let is_own = id.strip_prefix(&**channel).is_some_and(|rest| rest.starts_with(':'));
    let content_type = value(headers, CONTENT_TYPE).unwrap_or(UNKNOWN_TYPE);
    RecordedEvent {
        id: if is_own { id } else { format!("{channel}:{id}") },
        channel: channel.clone(),
        event: own.to_owned(),
        payload: Payload::new(content_type.to_owned(), payload),
        // A depth that is none is over every limit.
        depth: value(headers, DEPTH).map_or(1, |text| text.parse().unwrap_or(u8::MAX)),
        request_id: attribute(headers, REQUEST),
        traceparent: attribute(headers, TRACEPARENT),
        partition,
    }
}

/// The headers of a call, with the time that is left for it.
pub(crate) fn call_headers(call: &RecordedEvent, left: Duration) -> HeaderMap {
    let mut headers = headers(call);
    headers.insert(TIME, left.as_millis().to_string());
    headers
}

/// The time that is left for a call.
pub(crate) fn time_left(headers: &HeaderMap) -> Option<Duration> {
    value(headers, TIME)?.parse().ok().map(Duration::from_millis)
}

/// The answer to a call as a message.
pub(crate) fn answer(result: &Result<Payload, Failure>) -> (HeaderMap, Bytes) {
    let mut headers = HeaderMap::new();
    match result {
        Ok(payload) => {
            headers.insert(CONTENT_TYPE, one_line(payload.content_type()));
            (headers, payload.data().to_vec().into())
        }
        Err(failure) => {
            headers.insert(CONTENT_TYPE, "application/json");
            headers.insert(CODE, encoded(failure.code().as_str()));
            headers.insert(STATUS, failure.status().as_str());
            let of_reply = failure.headers().iter();
            let of_reply: Vec<_> = of_reply
                .filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
                .collect();
            let body = json!({"message": failure.message(), "details": failure.details(), "headers": of_reply});
            (headers, body.to_string().into())
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FailureBody {
    message: String,
    details: Option<Map<String, Value>>,
    headers: Vec<(String, String)>,
}

/// The answer in a message, which a stranger may have written.
pub(crate) fn answered(headers: &HeaderMap, payload: Bytes) -> Result<Payload, Failure> {
    let Some(code) = attribute(headers, CODE) else {
        let content_type = value(headers, CONTENT_TYPE).unwrap_or(UNKNOWN_TYPE);
        return Ok(Payload::new(content_type.to_owned(), payload));
    };
    let status = value(headers, STATUS).and_then(|text| text.parse().ok());
    let body: FailureBody = serde_json::from_slice(&payload).unwrap_or_default();
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let failure = Failure::with_code(FailureCode::new(code), status, body.message);
    let failure = body
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)))
        .fold(failure, |failure: Failure, (name, value)| failure.header(name, value));
    Err(failure.with_details(body.details.unwrap_or_default()))
}

/// The partition that the headers of a dead letter name.
pub(crate) fn partition(headers: &HeaderMap) -> u16 {
    let partition = value(headers, PARTITION).and_then(|text| text.parse().ok());
    partition.unwrap_or_default()
}

fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let value = headers.get(name)?.as_str();
    (value.len() <= MAX_VALUE).then_some(value)
}

fn attribute(headers: &HeaderMap, name: &str) -> Option<String> {
    let decoded = percent_decode_str(value(headers, name)?).decode_utf8();
    decoded.ok().map(Cow::into_owned)
}

fn encoded(text: &str) -> String {
    utf8_percent_encode(text, ENCODED).to_string()
}

/// A text without line breaks, which would end its header.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded(id: &str, event: &str) -> RecordedEvent {
        RecordedEvent {
            id: id.to_owned(),
            channel: "mail".into(),
            event: event.to_owned(),
            payload: Payload::new("a\nb".to_owned(), Vec::new()),
            depth: 3,
            request_id: Some("100%".to_owned()),
            traceparent: None,
            partition: 2,
        }
    }

    #[test]
    fn any_text_crosses_as_it_is() {
        for text in [
            "a\nb",
            "a\r\nce-id: b",
            "a ",
            " a",
            "ü – 'x' \"y\"",
            "%0a",
            "\0",
            "a\u{85}b",
        ] {
            let sent = recorded(&format!("mail:order:{text}"), text);
            let headers = dead_headers(&sent, 7, text);
            let came = event(&sent.channel, &headers, Bytes::new(), 1, 2);
            assert_eq!((&came.id, &came.event), (&sent.id, &sent.event));
            assert_eq!((came.depth, came.request_id.as_deref()), (3, Some("100%")));
            assert_eq!(of_dead(&headers), (7, text.to_owned()));
            assert_eq!(came.payload.content_type(), "a b");
        }
    }

    #[test]
    fn an_id_of_a_stranger_is_one_of_the_channel() {
        let id = |id: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ID, id);
            event(&"mail".into(), &headers, Bytes::new(), 5, 0).id
        };
        assert_eq!(id("0f8c-uuid"), "mail:0f8c-uuid");
        assert_eq!(id("mail:order:7"), "mail:order:7");
        assert_eq!(id(&"x".repeat(769)), "mail:5");
        assert_eq!(id(""), "mail:5");
        assert_eq!(id("%ff"), "mail:5");
    }

    #[test]
    fn a_failure_crosses_as_it_is() {
        let failure = Failure::with_code(FailureCode::new("a\nb"), StatusCode::CONFLICT, "c\nd").detail("e", "f\ng");
        let (headers, body) = answer(&Err(failure.clone()));
        let came = answered(&headers, body).expect_err("it is a failure");
        assert_eq!((came.code().as_str(), came.status()), ("a\nb", StatusCode::CONFLICT));
        assert_eq!((came.message(), came.details()), ("c\nd", failure.details()));
    }
}
