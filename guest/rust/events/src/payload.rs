//! The data that events carry.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::json::{JSON, foreign_charset, from_json, is_json};

/// The payload of an event, or the result of its listener: a JSON text, or bytes with a content type.
///
/// Most code does not need it: events have types of the event map, which cross the boundary as JSON. A `Payload` in the event
/// map crosses it unchanged, for data that is not JSON or that is only passed on:
///
/// ```
/// use pointwork_events::{Payload, events};
///
/// events! {
///     /// The image of that id.
///     pub Image = "files:image": u64 => Payload;
///     /// Stores an image.
///     pub Store = "files:store": Payload => u64;
/// }
///
/// let image = Payload::new("image/png", [137, b'P', b'N', b'G'].as_slice());
/// assert_eq!((image.content_type(), image.data().len()), ("image/png", 4));
/// ```
///
/// A `Vec<u8>` in the event map is a JSON array of numbers, which is three to four times as long as the bytes: use a
/// `Payload` for bytes.
#[derive(Clone)]
pub enum Payload {
    /// A JSON text. Nothing checks that it is one before a reader parses it.
    Json(Cow<'static, str>),
    /// Bytes of any content type.
    Bytes {
        /// How to read the bytes, such as `image/png`.
        content_type: Cow<'static, str>,
        /// The bytes.
        data: Vec<u8>,
    },
}

impl Payload {
    /// Data of any content type. UTF-8 of the type `application/json` is [`Json`](Self::Json).
    pub fn new(content_type: impl Into<Cow<'static, str>>, data: impl Into<Vec<u8>>) -> Self {
        let (content_type, data) = (content_type.into(), data.into());
        if content_type != JSON {
            return Self::Bytes { content_type, data };
        }
        match String::from_utf8(data) {
            Ok(text) => Self::Json(text.into()),
            Err(error) => Self::Bytes {
                content_type,
                data: error.into_bytes(),
            },
        }
    }

    /// A value as JSON. `()` is the text `null`.
    ///
    /// # Errors
    ///
    /// The value cannot be written as JSON, such as a map whose keys are not text.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, PayloadError> {
        let text = serde_json::to_string(value).map_err(PayloadError::Write)?;
        Ok(Self::Json(text.into()))
    }

    /// No value: the JSON text `null`.
    pub fn null() -> Self {
        Self::Json("null".into())
    }

    /// The content type; `application/json` unless both sides agree on another.
    pub fn content_type(&self) -> &str {
        match self {
            Self::Json(_) => JSON,
            Self::Bytes { content_type, .. } => content_type,
        }
    }

    /// The bytes, or those of the JSON text.
    pub fn data(&self) -> &[u8] {
        match self {
            Self::Json(text) => text.as_bytes(),
            Self::Bytes { data, .. } => data,
        }
    }

    /// The JSON text, or the bytes if they are UTF-8; `None` if they are not.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Json(text) => Some(text),
            Self::Bytes { data, .. } => std::str::from_utf8(data).ok(),
        }
    }

    /// The bytes, without a copy.
    pub fn into_data(self) -> Vec<u8> {
        match self {
            Self::Json(text) => text.into_owned().into_bytes(),
            Self::Bytes { data, .. } => data,
        }
    }

    /// Reads a value from JSON, of the content type `application/json` or one that ends in `+json`.
    ///
    /// # Errors
    ///
    /// The payload is not JSON in UTF-8, or does not fit the type: the message contains the field, the expected type, line and
    /// column. The key `__proto__`, the key `prototype` of an object behind the key `constructor`, and half of a surrogate pair are
    /// errors too, at any depth.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, PayloadError> {
        let content_type = self.content_type();
        if !is_json(content_type) || foreign_charset(content_type).is_some() {
            return Err(PayloadError::ContentType(content_type.to_owned()));
        }
        from_json(self.data()).map_err(PayloadError::Value)
    }
}

impl fmt::Debug for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Payload")
            .field("content_type", &self.content_type())
            .field("data", &self.data().escape_ascii().to_string())
            .finish()
    }
}

impl PartialEq for Payload {
    fn eq(&self, other: &Self) -> bool {
        self.content_type() == other.content_type() && self.data() == other.data()
    }
}

impl Eq for Payload {}

/// The type of a payload or a result in the event map: every type that serde reads and writes, as JSON, and [`Payload`]
/// unchanged.
#[diagnostic::on_unimplemented(
    message = "an event cannot carry `{Self}`",
    note = "payloads and results of events implement `serde::Serialize` and `serde::Deserialize`, or are a `Payload`"
)]
pub trait EventData: Sized {
    /// The payload of the value.
    ///
    /// # Errors
    ///
    /// [`PayloadError::Write`].
    fn into_payload(self) -> Result<Payload, PayloadError>;

    /// The value of a payload.
    ///
    /// # Errors
    ///
    /// [`PayloadError::ContentType`] and [`PayloadError::Value`].
    fn from_payload(payload: Payload) -> Result<Self, PayloadError>;
}

impl<T: Serialize + DeserializeOwned> EventData for T {
    fn into_payload(self) -> Result<Payload, PayloadError> {
        Payload::json(&self)
    }

    fn from_payload(payload: Payload) -> Result<Self, PayloadError> {
        payload.to()
    }
}

impl EventData for Payload {
    fn into_payload(self) -> Result<Self, PayloadError> {
        Ok(self)
    }

    fn from_payload(payload: Self) -> Result<Self, PayloadError> {
        Ok(payload)
    }
}

/// The error of a conversion between a value and a payload. The error converts into the `Failure` of guests and hosts.
#[derive(Debug)]
#[non_exhaustive]
pub enum PayloadError {
    /// The value cannot be written as JSON.
    Write(serde_json::Error),
    /// The payload has this content type, which is not JSON.
    ContentType(String),
    /// The payload is not JSON, or does not fit the type: the field, the expected type, line and column.
    Value(String),
}

impl fmt::Display for PayloadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write(error) => write!(f, "the value cannot be written as JSON: {error}"),
            Self::ContentType(found) => write!(f, "expected `{JSON}`, got `{found}`"),
            Self::Value(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for PayloadError {}

#[cfg(test)]
mod tests {
    use super::{EventData as _, Payload, PayloadError};

    #[test]
    fn no_value_is_the_json_text_null() -> Result<(), PayloadError> {
        let nothing = Payload::json(&())?;
        assert_eq!(nothing, Payload::null());
        assert_eq!(
            (nothing.content_type(), nothing.as_text(), nothing.data()),
            ("application/json", Some("null"), &b"null"[..])
        );
        nothing.to::<()>()
    }

    #[test]
    fn a_value_that_json_cannot_hold_is_an_error() {
        let map = std::collections::HashMap::from([((1, 2), 3)]);
        let error = Payload::json(&map).expect_err("keys that are not text");
        assert_eq!(
            error.to_string(),
            "the value cannot be written as JSON: key must be a string"
        );
    }

    #[test]
    fn bytes_of_a_json_type_are_read_as_json() -> Result<(), PayloadError> {
        for content_type in [
            "application/json",
            "application/json; charset=utf-8",
            "application/geo+json",
        ] {
            assert_eq!(Payload::new(content_type, "7").to::<u32>()?, 7);
        }
        let error = Payload::new("text/plain", "7").to::<u32>().expect_err("another type");
        assert_eq!(error.to_string(), "expected `application/json`, got `text/plain`");
        Ok(())
    }

    #[test]
    fn a_payload_with_the_key_of_a_prototype_is_refused() {
        let payload = Payload::Json(r#"{"a":[{"__proto__":1}]}"#.into());
        let error = payload.to::<serde_json::Value>().expect_err("a prototype");
        assert_eq!(
            error.to_string(),
            "the key `__proto__` at line 1, column 8 is not allowed"
        );
        let payload = Payload::new("application/json; charset=utf-16", "7");
        let error = payload.to::<u32>().expect_err("another charset");
        assert_eq!(
            error.to_string(),
            "expected `application/json`, got `application/json; charset=utf-16`"
        );
    }

    #[test]
    fn a_payload_is_read_and_written_unchanged() -> Result<(), PayloadError> {
        for payload in [Payload::new("image/png", [137, b'P'].as_slice()), Payload::json(&[7])?] {
            assert_eq!(Payload::from_payload(payload.clone())?.into_payload()?, payload);
        }
        // The payload of a typed event that is optional is JSON.
        assert_eq!(Some(7).into_payload()?.as_text(), Some("7"));
        Ok(())
    }

    #[test]
    fn bytes_that_are_no_text_are_shown_escaped() {
        for content_type in ["image/png", "application/json"] {
            let payload = Payload::new(content_type, [137, b'P'].as_slice());
            assert_eq!((payload.as_text(), payload.content_type()), (None, content_type));
            let shown = format!("{payload:?}");
            assert!(shown.contains("\\x89P"), "{shown}");
        }
    }
}
