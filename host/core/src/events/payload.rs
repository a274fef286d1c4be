//! The payload of an event.

use std::borrow::Cow;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Failure;

/// The content type of a payload that was made from a typed value.
pub const JSON: &str = "application/json";

/// The payload of an event, or the result of a listener: bytes with a content type, JSON unless both sides agree on
/// something else (spec H8).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    content_type: Cow<'static, str>,
    data: Bytes,
}

impl Payload {
    /// A payload of any content type.
    pub fn new(content_type: impl Into<Cow<'static, str>>, data: impl Into<Bytes>) -> Self {
        Self {
            content_type: content_type.into(),
            data: data.into(),
        }
    }

    /// A value as JSON.
    ///
    /// # Errors
    /// If the value has no JSON form, such as a map whose keys are not strings.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, Failure> {
        let data = serde_json::to_vec(value)
            .map_err(|error| Failure::bad_payload(format!("the payload cannot be written as JSON: {error}")))?;
        Ok(Self::new(JSON, data))
    }

    /// No value: the JSON text `null`.
    pub fn null() -> Self {
        Self::new(JSON, Bytes::from_static(b"null"))
    }

    /// Reads the payload as a typed value.
    ///
    /// # Errors
    /// [`BAD_PAYLOAD`](crate::FailureCode::BAD_PAYLOAD) if it is not JSON, or not of the type; the message says where.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let essence = self.content_type.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case(JSON) {
            return Err(Failure::bad_payload(format!(
                "the payload is `{}`, expected `{JSON}`",
                self.content_type
            )));
        }
        serde_json::from_slice(&self.data)
            .map_err(|error| Failure::bad_payload(format!("the payload is not of the declared type: {error}")))
    }

    /// How to read [`data`](Self::data).
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    /// The bytes.
    pub fn data(&self) -> &Bytes {
        &self.data
    }

    /// The content type and the bytes.
    pub fn into_parts(self) -> (Cow<'static, str>, Bytes) {
        (self.content_type, self.data)
    }
}
