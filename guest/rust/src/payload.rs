//! Payloads, and JSON both ways.

use std::fmt::Display;

use pointwork_events::Event;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;

use crate::bindings::types;
use crate::{CallError, Failure, HttpStatus};

pub(crate) const JSON: &str = "application/json";

/// What an event carries and what a listener returns: bytes with a content type.
///
/// A listener whose payload is a type of the event map has no use for it: it takes and returns that type, and the SDK
/// reads and writes the JSON. This is for what is not JSON, or is passed on unread. A listener that takes a `Payload`
/// gets it as it came; one that returns a `Payload` sends it as it is.
///
/// ```
/// use pointwork_guest::{Payload, channel};
///
/// struct Images;
///
/// #[channel("images")]
/// impl Images {
///     #[on("echo")]
///     fn echo(image: Payload) -> Payload {
///         Payload::new("image/png", image.into_data())
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Payload(types::Payload);

impl Payload {
    /// A payload of any content type.
    pub fn new(content_type: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        Self(types::Payload {
            content_type: content_type.into(),
            data: data.into(),
        })
    }

    /// A value as JSON.
    ///
    /// # Errors
    ///
    /// `bad-payload` if JSON has no such value, such as a map with keys that are no text.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, Failure> {
        encode(value).map(Self).map_err(|error| {
            Failure::new(
                HttpStatus::INTERNAL_SERVER_ERROR,
                format!("the value cannot be written as JSON: {error}"),
            )
            .code("bad-payload")
        })
    }

    /// How to read [`data`](Self::data); `application/json` unless both sides agree on something else.
    pub fn content_type(&self) -> &str {
        &self.0.content_type
    }

    /// The bytes. No value at all is the JSON text `null`, never zero bytes.
    pub fn data(&self) -> &[u8] {
        &self.0.data
    }

    /// The bytes, taken out.
    pub fn into_data(self) -> Vec<u8> {
        self.0.data
    }

    /// Reads a value from JSON.
    ///
    /// # Errors
    ///
    /// `bad-payload` with status 400 if it is not JSON, or not of that type; the message says which field, what was
    /// expected, and at which line and column.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        decode(&self.0).map_err(|message| Failure::bad_payload(format!("payload: {message}")))
    }
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Payload")
            .field("content_type", &self.0.content_type)
            .field("data", &self.0.data.escape_ascii().to_string())
            .finish()
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.content_type() == other.content_type() && self.data() == other.data()
    }
}

impl Eq for Payload {}

impl From<Payload> for types::Payload {
    fn from(payload: Payload) -> Self {
        payload.0
    }
}

impl From<types::Payload> for Payload {
    fn from(payload: types::Payload) -> Self {
        Self(payload)
    }
}

pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<types::Payload, serde_json::Error> {
    serde_json::to_vec(value).map(|data| types::Payload {
        content_type: JSON.into(),
        data,
    })
}

/// What a call of an event sends.
pub(crate) fn of_call<E: Event>(payload: &E::Payload) -> Result<types::Payload, CallError> {
    encode(payload).map_err(|error| CallError::unwritable(E::NAME, &error))
}

/// What came of a call of an event.
pub(crate) fn of_answer<E: Event>(answer: Result<types::Payload, types::Failure>) -> Result<E::Output, CallError> {
    let answer = answer.map_err(|failure| CallError::new(E::NAME, failure))?;
    decode(&answer).map_err(|message| CallError::unreadable(E::NAME, message))
}

pub(crate) fn decode<T: DeserializeOwned>(payload: &types::Payload) -> Result<T, String> {
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

#[cfg(test)]
mod tests {
    use super::Payload;
    use crate::Failure;

    #[test]
    fn no_value_is_the_json_text_null() -> Result<(), Failure> {
        let nothing = Payload::json(&())?;
        assert_eq!(
            (nothing.content_type(), nothing.data()),
            ("application/json", &b"null"[..])
        );
        nothing.to::<()>()
    }

    #[test]
    fn what_json_cannot_hold_is_a_failure() {
        let map = std::collections::HashMap::from([((1, 2), 3)]);
        let failure = Payload::json(&map).expect_err("keys that are no text");
        assert_eq!((failure.code.as_ref(), failure.status), ("bad-payload", 500));
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_escaped() {
        let shown = format!("{:?}", Payload::new("image/png", [137, b'P']));
        assert!(shown.contains("\\x89P"), "{shown}");
    }
}
