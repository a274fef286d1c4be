//! How JSON is read, for payloads here and for bodies and queries in the guest's SDK.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;

/// The content type of JSON.
pub const JSON: &str = "application/json";

/// Reads a JSON text. The error contains the field, the expected type, line and column.
///
/// # Errors
///
/// The text is not JSON, or does not fit the type.
pub fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let value = serde_path_to_error::deserialize(&mut json).map_err(at_field)?;
    json.end().map_err(|error| error.to_string())?;
    Ok(value)
}

/// The error with the path of the field before it. An error of the whole value has no path.
pub fn at_field<E: Display>(error: serde_path_to_error::Error<E>) -> String {
    let whole = error.path().iter().all(|segment| matches!(segment, Segment::Unknown));
    if whole {
        error.inner().to_string()
    } else {
        format!("`{}`: {}", error.path(), error.inner())
    }
}

/// Whether a content type is JSON: `application/json` or `<anything>+json`, with or without parameters.
pub fn is_json(content_type: &str) -> bool {
    let essence = essence(content_type);
    essence.eq_ignore_ascii_case(JSON)
        || essence.len() > 5 && essence.as_bytes()[essence.len() - 5..].eq_ignore_ascii_case(b"+json")
}

/// A content type without its parameters.
pub fn essence(content_type: &str) -> &str {
    let essence = content_type
        .split_once(';')
        .map_or(content_type, |(essence, _)| essence);
    essence.trim_ascii()
}
