//! Replies and failures on their way over the boundary.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use pointwork_core::{Body, Crash, CrashKind, Failure, FailureCode, IntoReply, Outcome};

use serde::de::IgnoredAny;

use crate::guest::bindings::types;

pub(crate) fn failure_out(failure: Failure) -> types::Failure {
    types::Failure {
        code: failure.code().as_str().to_owned(),
        status: failure.status().as_u16(),
        message: failure.message().to_owned(),
    }
}

/// A failure with the status 500.
pub(crate) fn failed(code: FailureCode, message: impl Into<String>) -> Failure {
    Failure::with_code(code, StatusCode::INTERNAL_SERVER_ERROR, message)
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
            serde_json::from_str::<IgnoredAny>(&text)
                .map_err(|error| invalid(format!("the body is declared as JSON and is none: {error}")))?;
            (Some("application/json"), Body::from(text))
        }
        types::Body::Bytes(bytes) => (Some("application/octet-stream"), Body::from(bytes)),
    };
    let mut response = headers_in(status, headers)?.map(|()| body);
    if let Some(content_type) = content_type {
        response
            .headers_mut()
            .entry(CONTENT_TYPE)
            .or_insert(HeaderValue::from_static(content_type));
    }
    Ok(response)
}

pub(crate) fn headers_in(status: u16, headers: Vec<types::Header>) -> Result<Response<()>, Failure> {
    let status = status_in(status)?;
    let mut map = HeaderMap::with_capacity(headers.len() + 1);
    for types::Header { name, value } in headers {
        let Ok(header) = HeaderName::try_from(name.as_str()) else {
            return Err(invalid(format!(
                "`{}` cannot be the name of a header",
                name.escape_debug()
            )));
        };
        let Ok(value) = HeaderValue::try_from(value) else {
            return Err(invalid(format!(
                "the value of header `{header}` holds bytes that a header cannot hold"
            )));
        };
        map.append(header, value);
    }
    let mut response = Response::new(());
    *response.status_mut() = status;
    *response.headers_mut() = map;
    Ok(response)
}

fn status_in(status: u16) -> Result<StatusCode, Failure> {
    let valid = StatusCode::from_u16(status).ok();
    let valid = valid.filter(|_| (200..=599).contains(&status));
    valid.ok_or_else(|| invalid(format!("{status} cannot be the status of a reply; expected 200 to 599")))
}

/// A guest's error; the status must be one of an error.
pub(crate) fn thrown_in(status: u16, message: String) -> Result<Failure, Failure> {
    if !(400..=599).contains(&status) {
        return Err(invalid(format!("{status} cannot be thrown; expected 400 to 599")));
    }
    Ok(Failure::new(status_in(status)?, message))
}

pub(crate) fn outcome_in(outcome: types::Outcome) -> Outcome {
    let refused = |failure: Failure| {
        let message = format!("the handler's reply was refused: {failure}");
        Outcome::Crashed(Box::new(Crash::new(CrashKind::Reply, message)))
    };
    match outcome {
        types::Outcome::Reply(reply) => reply_in(reply).map_or_else(refused, Outcome::Reply),
        types::Outcome::Throw(thrown) => {
            thrown_in(thrown.status, thrown.message).map_or_else(refused, IntoReply::into_reply)
        }
        types::Outcome::Deferred => Outcome::Deferred,
    }
}
