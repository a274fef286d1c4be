//! The payloads of events.

use pointwork_events::Event;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::types;
use crate::call_error::CallError;
use crate::failure::Failure;
use crate::json::{JSON, from_json, is_json};

/// The payload of an event, or the result of its listener: bytes with a content type.
///
/// Most listeners do not need it: they take and return types of the event map, and the SDK converts them from and to
/// JSON. A listener that takes or returns a `Payload` gets or sends the bytes unchanged, for data that is not JSON or
/// that the listener only passes on.
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
    /// `bad-payload` if the value cannot be written as JSON, such as a map whose keys are not text.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, Failure> {
        encode(value).map(Self).map_err(|error| {
            Failure::new(500_u16, format!("the value cannot be written as JSON: {error}")).code("bad-payload")
        })
    }

    /// The content type of [`data`](Self::data); `application/json` unless both sides agree on another.
    pub fn content_type(&self) -> &str {
        &self.0.content_type
    }

    /// The bytes. `()` is the JSON text `null`, never zero bytes.
    pub fn data(&self) -> &[u8] {
        &self.0.data
    }

    /// The bytes, without a copy.
    pub fn into_data(self) -> Vec<u8> {
        self.0.data
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

/// The payload of a call.
pub(crate) fn for_call<E: Event>(payload: &E::Payload) -> Result<types::Payload, CallError> {
    encode(payload)
        .map_err(|error| CallError::bad_payload(E::NAME, format!("the payload cannot be written as JSON: {error}")))
}

/// The payload of an emitted event. An error is logged, since `emit` returns none.
pub(crate) fn for_emit<E: Event>(payload: &E::Payload) -> Option<types::Payload> {
    encode(payload)
        .inspect_err(|error| crate::log::error!("event `{}` was not emitted: {error}", E::NAME))
        .ok()
}

/// The result of a call.
pub(crate) fn call_result<E: Event>(result: Result<types::Payload, types::Failure>) -> Result<E::Output, CallError> {
    let payload = result.map_err(CallError::of(E::NAME))?;
    decode(&payload).map_err(|message| CallError::bad_payload(E::NAME, format!("the result does not fit: {message}")))
}

pub(crate) fn decode<T: DeserializeOwned>(payload: &types::Payload) -> Result<T, String> {
    if !is_json(&payload.content_type) {
        return Err(format!("expected `{JSON}`, got `{}`", payload.content_type));
    }
    from_json(&payload.data)
}

#[cfg(test)]
mod tests {
    use super::{Failure, Payload};

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
