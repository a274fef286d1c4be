//! Payloads of events on their way over the boundary.

use pointwork_core::{Failure, JSON, Payload};

use crate::guest::bindings::types;
use crate::guest::reply::failure_out;

pub(crate) fn payload_in(payload: types::Payload) -> Payload {
    match payload {
        types::Payload::Json(text) => Payload::Json(text.into()),
        types::Payload::Bytes(binary) => Payload::Bytes {
            content_type: binary.content_type.into(),
            data: binary.data,
        },
    }
}

/// A payload for a guest: JSON as a string, everything else as bytes.
///
/// # Errors
/// [`BAD_PAYLOAD`](pointwork_core::FailureCode::BAD_PAYLOAD) if it is JSON by its content type and not UTF-8.
pub(crate) fn payload_out(payload: Payload) -> Result<types::Payload, Failure> {
    let (content_type, data) = match payload {
        Payload::Json(text) => return Ok(types::Payload::Json(text.into_owned())),
        Payload::Bytes { content_type, data } => (content_type, data),
    };
    if !is_json(&content_type) {
        let content_type = content_type.into_owned();
        return Ok(types::Payload::Bytes(types::Binary { content_type, data }));
    }
    match String::from_utf8(data) {
        Ok(text) => Ok(types::Payload::Json(text)),
        Err(error) => {
            let message = format!("the payload is `{content_type}` and not UTF-8: {}", error.utf8_error());
            Err(Failure::bad_payload(message))
        }
    }
}

fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(JSON)
}

pub(crate) fn result_out(result: Result<Payload, Failure>) -> Result<types::Payload, types::Failure> {
    result.and_then(payload_out).map_err(failure_out)
}
