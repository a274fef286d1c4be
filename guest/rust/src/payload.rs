//! The payloads of events, on their way to the host and back.

use pointwork_events::{Event, EventData as _, Payload, PayloadError};

use crate::bindings::types;
use crate::failure::Failure;

impl From<Payload> for types::Payload {
    fn from(payload: Payload) -> Self {
        match payload {
            Payload::Json(text) => Self::Json(text.into_owned()),
            Payload::Bytes { content_type, data } => Self::Bytes(types::Binary {
                content_type: content_type.into_owned(),
                data,
            }),
        }
    }
}

impl From<types::Payload> for Payload {
    fn from(payload: types::Payload) -> Self {
        match payload {
            types::Payload::Json(text) => Self::Json(text.into()),
            types::Payload::Bytes(binary) => Self::Bytes {
                content_type: binary.content_type.into(),
                data: binary.data,
            },
        }
    }
}

/// `bad-payload`: with the status 400 for a payload that does not fit, with 500 for a value that JSON cannot hold.
impl From<PayloadError> for Failure {
    fn from(error: PayloadError) -> Self {
        match error {
            PayloadError::Write(_) => Self::with_code("bad-payload", 500_u16, error.to_string()),
            _ => Self::bad_payload(format!("payload: {error}")),
        }
    }
}

/// The payload of a call.
pub(crate) fn for_call<E: Event>(payload: E::Payload) -> Result<types::Payload, Failure> {
    let payload = payload.into_payload();
    payload
        .map(types::Payload::from)
        .map_err(|error| Failure::bad_call(E::NAME, format!("the payload: {error}")))
}

/// The payload of an emitted event. An error is logged, since `emit` returns none.
pub(crate) fn for_emit<E: Event>(payload: E::Payload) -> Option<types::Payload> {
    let payload = payload.into_payload();
    payload
        .map(types::Payload::from)
        .inspect_err(|error| crate::log::error!("event `{}` was not emitted: {error}", E::NAME))
        .ok()
}

/// The result of a call.
pub(crate) fn call_result<E: Event>(result: Result<types::Payload, types::Failure>) -> Result<E::Output, Failure> {
    let payload = result.map_err(Failure::from_call(E::NAME))?;
    E::Output::from_payload(payload.into())
        .map_err(|error| Failure::bad_call(E::NAME, format!("the result does not fit: {error}")))
}
