//! Replies and failures on their way over the boundary.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use pointwork_core::{Body, Crash, CrashKind, Failure, FailureCode, IntoReply, Outcome, one_line};

use pointwork_events::reply::{check_header_bytes, check_json, check_status, read_details};
use serde_json::{Map, Value};

use crate::guest::VersionState;
use crate::guest::bindings::types;
use crate::guest::limiter::Exceeded;
use crate::guest::log::cut;
use crate::guest::memory::NoRoom;

/// The longest code of a failure, in bytes; the rest is cut off.
const MAX_CODE: usize = 255;

/// The longest message of a failure, in bytes; the rest is cut off.
const MAX_MESSAGE: usize = 8 * 1024;

pub(crate) fn failure_out(failure: Failure) -> types::Failure {
    types::Failure {
        code: failure.code().as_str().to_owned(),
        status: failure.status().as_u16(),
        headers: headers_out(failure.headers()),
        details: failure
            .details()
            .map(|details| Value::from(details.clone()).to_string()),
        message: failure.message().to_owned(),
    }
}

/// A listener's failure. Parts of it that cannot reach a client are dropped and logged: the caller gets its failure anyway.
pub(crate) fn failure_in(failure: types::Failure, module: &str) -> Failure {
    let types::Failure {
        mut code,
        status,
        headers,
        mut message,
        details,
    } = failure;
    cut(&mut code, MAX_CODE);
    cut(&mut message, MAX_MESSAGE);
    // A status that HTTP does not have becomes 500.
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let failure = Failure::with_code(FailureCode::new(code), status, message);
    let dropped = |refused: Failure| tracing::warn!(module, "a part of a listener's failure is dropped: {refused}");
    let headers = headers_in(headers).map_err(dropped).unwrap_or_default();
    let details = details_in(details).map_err(dropped).unwrap_or_default();
    with_headers(failure, headers).with_details(details)
}

fn with_headers(failure: Failure, headers: HeaderMap) -> Failure {
    let mut last = None;
    headers.into_iter().fold(failure, |failure, (name, value)| {
        // Further values of a name come without it.
        last = name.or_else(|| last.take());
        match &last {
            Some(name) => failure.header(name.clone(), value),
            None => failure,
        }
    })
}

pub(crate) fn headers_out(headers: &HeaderMap) -> Vec<types::Header> {
    let header = |(name, value): (&HeaderName, &HeaderValue)| types::Header {
        name: name.as_str().to_owned(),
        value: value.as_bytes().to_vec(),
    };
    headers.iter().map(header).collect()
}

/// The value of a header as text: one character for each byte if it is not UTF-8.
pub(crate) fn header_out(value: &HeaderValue) -> String {
    let bytes = value.as_bytes();
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}

/// A failure with the status 500.
pub(crate) fn failed(code: FailureCode, message: impl Into<String>) -> Failure {
    Failure::with_code(code, StatusCode::INTERNAL_SERVER_ERROR, message)
}

/// A call that needs more of something than its module may have.
pub(crate) fn overloaded(exceeded: Exceeded) -> Failure {
    Failure::of(FailureCode::OVERLOADED, exceeded.to_string())
}

fn invalid(message: String) -> Failure {
    failed(FailureCode::INVALID_REPLY, message)
}

/// A guest's reply; a status or a header that cannot be one is refused by name.
pub(crate) fn reply_in(reply: types::Reply) -> Result<Response<Body>, Failure> {
    let types::Reply { status, headers, body } = reply;
    let (content_type, body) = match body {
        types::Body::Empty => (None, Body::empty()),
        types::Body::Text(text) => (Some("text/plain; charset=utf-8"), Body::from(text)),
        types::Body::Json(text) => {
            check_json(&text).map_err(invalid)?;
            (Some("application/json"), Body::from(text))
        }
        types::Body::Bytes(bytes) => (Some("application/octet-stream"), Body::from(bytes)),
    };
    let mut response = response_head(status, headers)?.map(|()| body);
    if let Some(content_type) = content_type {
        response
            .headers_mut()
            .entry(CONTENT_TYPE)
            .or_insert(HeaderValue::from_static(content_type));
    }
    Ok(response)
}

/// The headers that the host adds to a reply: `content-type`, `content-length`, `x-request-id`.
const ADDED_HEADERS: usize = 3;

pub(crate) fn response_head(status: u16, headers: Vec<types::Header>) -> Result<Response<()>, Failure> {
    let mut response = Response::new(());
    *response.status_mut() = status_in(status)?;
    *response.headers_mut() = headers_in(headers)?;
    Ok(response)
}

fn headers_in(headers: Vec<types::Header>) -> Result<HeaderMap, Failure> {
    // A map has room for many more headers, and panics past that.
    check_header_bytes(headers.iter().map(|header| header.name.len() + header.value.len())).map_err(invalid)?;
    let mut map = HeaderMap::with_capacity(headers.len() + ADDED_HEADERS);
    for types::Header { name, value } in headers {
        let Ok(header) = HeaderName::try_from(name.as_str()) else {
            return Err(invalid(format!(
                "`{}` cannot be the name of a header",
                one_line(&name, 128)
            )));
        };
        let Ok(value) = HeaderValue::try_from(value) else {
            return Err(invalid(format!(
                "the value of header `{header}` holds bytes that a header cannot hold"
            )));
        };
        map.append(header, value);
    }
    Ok(map)
}

fn details_in(details: Option<String>) -> Result<Map<String, Value>, Failure> {
    details.map_or_else(|| Ok(Map::new()), |details| read_details(&details).map_err(invalid))
}

fn status_in(status: u16) -> Result<StatusCode, Failure> {
    check_status(status).map_err(invalid)?;
    StatusCode::from_u16(status).map_err(|error| invalid(error.to_string()))
}

/// A guest's error; the status must be one of an error.
pub(crate) fn thrown_in(thrown: types::Thrown) -> Result<Failure, Failure> {
    let types::Thrown {
        status,
        headers,
        mut message,
        details,
    } = thrown;
    cut(&mut message, MAX_MESSAGE);
    if !(400..=599).contains(&status) {
        return Err(invalid(format!("{status} cannot be thrown; expected 400 to 599")));
    }
    let failure = Failure::new(status_in(status)?, message);
    Ok(with_headers(failure, headers_in(headers)?).with_details(details_in(details)?))
}

/// A reply that has no room: 503 where replies that clients have not read take it, and no fault of the handler.
pub(crate) fn no_room(cause: NoRoom) -> Crash {
    let (kind, exceeded) = match cause {
        NoRoom::Ever(exceeded) => (CrashKind::Trap, exceeded),
        NoRoom::Now(exceeded) => (CrashKind::Limit, exceeded),
    };
    Crash::new(kind, format!("the handler's reply: {exceeded}")).at_limit(exceeded.limit)
}

/// The outcome of a handler; its reply is counted.
pub(crate) fn outcome_in(outcome: types::Outcome, version: &VersionState) -> Outcome {
    let refused = |failure: Failure| {
        let message = format!("the handler's reply was refused: {failure}");
        Outcome::Crashed(Box::new(Crash::new(CrashKind::Reply, message)))
    };
    let outcome = match outcome {
        types::Outcome::Reply(reply) => reply_in(reply).map_or_else(refused, Outcome::Reply),
        types::Outcome::Thrown(thrown) => thrown_in(thrown).map_or_else(refused, IntoReply::into_reply),
        types::Outcome::Deferred => Outcome::Deferred,
    };
    let Outcome::Reply(reply) = outcome else {
        return outcome;
    };
    version.memory.keep_reply(reply).map_or_else(
        |cause| {
            if matches!(cause, NoRoom::Now(_)) {
                version.admission.refused();
            }
            Outcome::Crashed(Box::new(no_room(cause).in_module(&*version.module)))
        },
        Outcome::Reply,
    )
}

#[cfg(test)]
mod tests {
    use pointwork_core::http::header::RETRY_AFTER;

    use super::*;

    /// Spec E6.
    #[test]
    fn a_call_without_room_may_be_repeated() {
        let failure = overloaded(Exceeded {
            limit: "host-memory",
            value: 1,
            unit: "bytes",
        });
        assert_eq!(
            (failure.code(), failure.status().as_u16()),
            (&FailureCode::OVERLOADED, 503)
        );
        assert_eq!(failure.headers()[RETRY_AFTER], "1");
    }
}
