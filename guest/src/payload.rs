//! Payloads as JSON, both ways.

use std::fmt::Display;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;

use crate::bindings::types::Payload;

pub(crate) const JSON: &str = "application/json";

pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Payload, serde_json::Error> {
    serde_json::to_vec(value).map(|data| Payload {
        content_type: JSON.into(),
        data,
    })
}

pub(crate) fn decode<T: DeserializeOwned>(payload: &Payload) -> Result<T, String> {
    if !is_json(&payload.content_type) {
        return Err(format!("expected `{JSON}`, got `{}`", payload.content_type));
    }
    from_json(&payload.data)
}

/// Reads a JSON text; the error says which field, what was expected, and at which line and column.
pub(crate) fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(at_field)?;
    json.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// The error with the path of the field before it, unless the value as a whole is at fault.
pub(crate) fn at_field<E: Display>(error: serde_path_to_error::Error<E>) -> String {
    let whole = error.path().iter().all(|segment| matches!(segment, Segment::Unknown));
    if whole {
        error.inner().to_string()
    } else {
        format!("`{}`: {}", error.path(), error.inner())
    }
}

/// Whether a content type is JSON: `application/json` or `<anything>+json`, with or without parameters.
pub(crate) fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case(JSON)
        || essence.len() > 5 && essence.as_bytes()[essence.len() - 5..].eq_ignore_ascii_case(b"+json")
}
