//! The payloads of events.

use pointwork_events::Event;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::types;
use crate::failure::Failure;
use crate::json::{JSON, from_json, is_json};

/// The payload of an event, or the result of its listener: a JSON text, or bytes with a content type.
///
/// Most listeners do not need it: they take and return types of the event map, and the SDK converts them from and to
/// JSON. A listener that takes or returns a `Payload` gets or sends it unchanged, for data that is not JSON or that the
/// listener only passes on.
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
///         Payload::bytes("image/png", image.into_bytes())
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Payload(types::Payload);

impl Payload {
    /// A value as JSON. `()` is the text `null`.
    ///
    /// # Errors
    ///
    /// `bad-payload` if the value cannot be written as JSON, such as a map whose keys are not text.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, Failure> {
        encode(value).map(Self).map_err(|error| {
            Failure::with_code(
                "bad-payload",
                500_u16,
                format!("the value cannot be written as JSON: {error}"),
            )
        })
    }

    /// Bytes of another content type, such as `image/png`.
    pub fn bytes(content_type: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        Self(types::Payload::Bytes(types::Binary {
            content_type: content_type.into(),
            data: data.into(),
        }))
    }

    /// The content type; `application/json` unless both sides agree on another.
    pub fn content_type(&self) -> &str {
        content_type(&self.0)
    }

    /// The JSON text, or the bytes if they are UTF-8; `None` if they are not.
    pub fn as_text(&self) -> Option<&str> {
        match &self.0 {
            types::Payload::Json(text) => Some(text),
            types::Payload::Bytes(binary) => std::str::from_utf8(&binary.data).ok(),
        }
    }

    /// The bytes, or those of the JSON text.
    pub fn as_bytes(&self) -> &[u8] {
        data(&self.0)
    }

    /// The bytes, without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        match self.0 {
            types::Payload::Json(text) => text.into_bytes(),
            types::Payload::Bytes(binary) => binary.data,
        }
    }

    /// Reads a value from JSON.
    ///
    /// # Errors
    ///
    /// `bad-payload` with status 400 if it is not JSON or does not fit the type. The message contains the field, the
    /// expected type, line and column.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        decode(&self.0).map_err(|message| Failure::bad_payload(format!("payload: {message}")))
    }
}

impl std::fmt::Debug for Payload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Payload")
            .field("content_type", &self.content_type())
            .field("data", &self.as_bytes().escape_ascii().to_string())
            .finish()
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.content_type() == other.content_type() && self.as_bytes() == other.as_bytes()
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

fn content_type(payload: &types::Payload) -> &str {
    match payload {
        types::Payload::Json(_) => JSON,
        types::Payload::Bytes(binary) => &binary.content_type,
    }
}

fn data(payload: &types::Payload) -> &[u8] {
    match payload {
        types::Payload::Json(text) => text.as_bytes(),
        types::Payload::Bytes(binary) => &binary.data,
    }
}

pub(crate) fn encode<T: Serialize + ?Sized>(value: &T) -> Result<types::Payload, serde_json::Error> {
    serde_json::to_string(value).map(types::Payload::Json)
}

/// The payload of a call.
pub(crate) fn for_call<E: Event>(payload: &E::Payload) -> Result<types::Payload, Failure> {
    encode(payload)
        .map_err(|error| Failure::bad_call(E::NAME, format!("the payload cannot be written as JSON: {error}")))
}

/// The payload of an emitted event. An error is logged, since `emit` returns none.
pub(crate) fn for_emit<E: Event>(payload: &E::Payload) -> Option<types::Payload> {
    encode(payload)
        .inspect_err(|error| crate::log::error!("event `{}` was not emitted: {error}", E::NAME))
        .ok()
}

/// The result of a call.
pub(crate) fn call_result<E: Event>(result: Result<types::Payload, types::Failure>) -> Result<E::Output, Failure> {
    let payload = result.map_err(Failure::from_call(E::NAME))?;
    decode(&payload).map_err(|message| Failure::bad_call(E::NAME, format!("the result does not fit: {message}")))
}

pub(crate) fn decode<T: DeserializeOwned>(payload: &types::Payload) -> Result<T, String> {
    let content_type = content_type(payload);
    if !is_json(content_type) {
        return Err(format!("expected `{JSON}`, got `{content_type}`"));
    }
    from_json(data(payload))
}

#[cfg(test)]
mod tests {
    use super::{Failure, Payload};

    #[test]
    fn no_value_is_the_json_text_null() -> Result<(), Failure> {
        let nothing = Payload::json(&())?;
        assert_eq!(
            (nothing.content_type(), nothing.as_text(), nothing.as_bytes()),
            ("application/json", Some("null"), &b"null"[..])
        );
        nothing.to::<()>()
    }

    #[test]
    fn a_value_that_json_cannot_hold_is_a_failure() {
        let map = std::collections::HashMap::from([((1, 2), 3)]);
        let failure = Payload::json(&map).expect_err("keys that are not text");
        assert_eq!((failure.code(), failure.status()), ("bad-payload", 500));
    }

    #[test]
    fn bytes_of_a_json_type_are_read_as_json() -> Result<(), Failure> {
        assert_eq!(Payload::bytes("application/json", "7").to::<u32>()?, 7);
        let failure = Payload::bytes("text/plain", "7").to::<u32>().expect_err("another type");
        assert_eq!(
            failure.message(),
            "payload: expected `application/json`, got `text/plain`"
        );
        Ok(())
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_escaped() {
        let payload = Payload::bytes("image/png", [137, b'P']);
        assert_eq!(payload.as_text(), None);
        let shown = format!("{payload:?}");
        assert!(shown.contains("\\x89P"), "{shown}");
    }
}
