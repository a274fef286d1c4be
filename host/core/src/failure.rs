//! A failure that may cross every boundary: to a client, to a guest, between channels.

use std::borrow::Cow;
use std::sync::LazyLock;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use pointwork_events::PayloadError;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Crash, CrashKind};

/// The field of an error's body that no detail may have.
const MESSAGE: &str = "message";

/// The kind of a failure: a word from an open list, so that a new word breaks no module that was built before it.
///
/// The words are those of the contract's `types.failure`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, derive_more::Display)]
pub struct FailureCode(Cow<'static, str>);

impl FailureCode {
    /// No listener has the event's name.
    pub const UNKNOWN_EVENT: Self = Self(Cow::Borrowed("unknown-event"));
    /// Two channels listen to the plain name.
    pub const AMBIGUOUS_EVENT: Self = Self(Cow::Borrowed("ambiguous-event"));
    /// A payload or a body is not of the declared type.
    pub const BAD_PAYLOAD: Self = Self(Cow::Borrowed("bad-payload"));
    /// The request has its reply.
    pub const ALREADY_REPLIED: Self = Self(Cow::Borrowed("already-replied"));
    /// A status or a header that cannot stand in a reply.
    pub const INVALID_REPLY: Self = Self(Cow::Borrowed("invalid-reply"));
    /// A body or a payload is over its limit.
    pub const TOO_LARGE: Self = Self(Cow::Borrowed("too-large"));
    /// A chain of calls is over its depth, as one that turns in a circle is in the end.
    pub const TOO_DEEP: Self = Self(Cow::Borrowed("too-deep"));
    /// The deadline passed.
    pub const DEADLINE: Self = Self(Cow::Borrowed("deadline"));
    /// A bounded queue or pool is full.
    pub const OVERLOADED: Self = Self(Cow::Borrowed("overloaded"));
    /// The other end is closed: the client went away, or a body was taken before.
    pub const GONE: Self = Self(Cow::Borrowed("gone"));
    /// The store of a durable channel did not confirm an event.
    pub const UNRECORDED: Self = Self(Cow::Borrowed("unrecorded"));
    /// A context was to be handed over to a durable channel.
    pub const NOT_DURABLE: Self = Self(Cow::Borrowed("not-durable"));
    /// A context was to be handed over to a channel whose listeners are in another process.
    pub const NOT_REMOTE: Self = Self(Cow::Borrowed("not-remote"));
    /// No process that listens to the channel can be reached.
    pub const UNREACHABLE: Self = Self(Cow::Borrowed("unreachable"));
    /// Anything else.
    pub const FAILED: Self = Self(Cow::Borrowed("failed"));

    /// A code by its word; for codes that come from a guest or from an application.
    pub fn new(word: impl Into<Cow<'static, str>>) -> Self {
        Self(word.into())
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// An error that may end a request: the client gets [`status`](Self::status), [`headers`](Self::headers) and a JSON object of
/// `message` and [`details`](Self::details) (spec H4).
///
/// Listeners return it to their callers, and a handler that returns `Err(Failure)` ends its request with it. Message, headers
/// and details reach the client; keep secrets out of them.
///
/// ```
/// use pointwork_core::Failure;
/// use pointwork_core::http::{HeaderValue, StatusCode, header::WWW_AUTHENTICATE};
///
/// let failure = Failure::new(StatusCode::UNAUTHORIZED, "the token is too old")
///     .header(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))
///     .detail("issued", "2024-01-31");
/// assert_eq!(failure.to_string(), "the token is too old");
/// assert_eq!(failure.details().unwrap()["issued"], "2024-01-31");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    code: FailureCode,
    status: StatusCode,
    message: String,
    /// Most failures have none.
    extras: Option<Box<Extras>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Extras {
    headers: HeaderMap,
    details: Map<String, Value>,
    /// A crash to report before the failure is returned to the caller.
    crash: Option<Crash>,
}

impl From<PayloadError> for Failure {
    /// [`BAD_PAYLOAD`](FailureCode::BAD_PAYLOAD): with the status 400 for a payload that does not fit, with 500 for a value that
    /// JSON cannot hold.
    fn from(error: PayloadError) -> Self {
        let message = format!("payload: {error}");
        match error {
            PayloadError::Write(_) => Self::internal(FailureCode::BAD_PAYLOAD, message),
            _ => Self::bad_payload(message),
        }
    }
}

impl Failure {
    /// A failure of the code [`FailureCode::FAILED`].
    ///
    /// A status below 400 becomes 500: a failure must not look like a success.
    pub fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self::with_code(FailureCode::FAILED, status, message)
    }

    /// A failure with a code of its own.
    pub fn with_code(code: FailureCode, status: StatusCode, message: impl Into<String>) -> Self {
        let is_error = status.is_client_error() || status.is_server_error();
        let status = if is_error {
            status
        } else {
            StatusCode::INTERNAL_SERVER_ERROR
        };
        Self {
            code,
            status,
            message: message.into(),
            extras: None,
        }
    }

    /// The same with a further header of the reply. A header of the same name is kept beside it. The rules are those of any
    /// reply's headers.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        if self
            .extras
            .get_or_insert_default()
            .headers
            .try_append(name, value)
            .is_err()
        {
            tracing::error!("a failure has more headers than a reply can have; the others were dropped");
        }
        self
    }

    /// The same with a further field of the body, beside `message` (spec H4).
    ///
    /// A field `message` is ignored. A value that cannot be JSON becomes `null`, which is logged.
    #[must_use]
    pub fn detail(mut self, name: impl Into<String>, value: impl Serialize) -> Self {
        let name = name.into();
        let value = serde_json::to_value(value).unwrap_or_else(|error| {
            tracing::error!("the detail `{name}` of a failure cannot be written as JSON: {error}");
            Value::Null
        });
        if name != MESSAGE {
            self.extras.get_or_insert_default().details.insert(name, value);
        }
        self
    }

    /// The same with these fields of the body in place of earlier ones. A field `message` is ignored.
    #[must_use]
    pub fn with_details(mut self, mut details: Map<String, Value>) -> Self {
        details.remove(MESSAGE);
        if self.extras.is_some() || !details.is_empty() {
            self.extras.get_or_insert_default().details = details;
        }
        self
    }

    /// The failure of a listener that crashed. The bus reports the crash as `server:crashed`, with the request that led
    /// there; the caller gets the crash's status without any detail.
    pub fn of_crash(crash: Crash) -> Self {
        let status = crash.kind.status();
        let code = match crash.kind {
            CrashKind::Deadline => FailureCode::DEADLINE,
            CrashKind::Limit => FailureCode::OVERLOADED,
            _ => FailureCode::FAILED,
        };
        let mut failure = Self::with_code(code, status, "the listener crashed");
        failure.extras.get_or_insert_default().crash = Some(crash);
        failure
    }

    /// The error that a client gets for a crash: the status, without any detail.
    pub(crate) fn for_client(crash: &Crash) -> Self {
        let failure = Self::new(crash.kind.status(), crash.kind.public_message());
        match failure.status() {
            StatusCode::SERVICE_UNAVAILABLE => failure.header(RETRY_AFTER, HeaderValue::from_static("1")),
            _ => failure,
        }
    }

    /// Takes the crash, to report it; the message names the event from now on.
    pub(crate) fn take_crash(&mut self, event: &str) -> Option<Crash> {
        let crash = self.extras.as_mut()?.crash.take()?;
        self.message = match crash.kind {
            CrashKind::Deadline => format!("the listener of `{event}` took too long"),
            CrashKind::Limit => format!("the listener of `{event}` has no room"),
            _ => format!("the listener of `{event}` crashed"),
        };
        Some(crash)
    }

    pub(crate) fn internal(code: FailureCode, message: impl Into<String>) -> Self {
        Self::with_code(code, StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// A payload or a body that is not of the declared type: 400.
    pub fn bad_payload(message: impl Into<String>) -> Self {
        Self::with_code(FailureCode::BAD_PAYLOAD, StatusCode::BAD_REQUEST, message)
    }

    /// The request already has its reply (spec H7).
    pub fn already_replied() -> Self {
        Self::internal(FailureCode::ALREADY_REPLIED, "the request already has its reply")
    }

    /// The kind of the failure.
    pub fn code(&self) -> &FailureCode {
        &self.code
    }

    /// The status that the client gets if the failure ends the request; 400 to 599.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// One sentence for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The headers that the client gets, beside those of every reply.
    pub fn headers(&self) -> &HeaderMap {
        static NONE: LazyLock<HeaderMap> = LazyLock::new(HeaderMap::new);
        self.extras.as_ref().map_or(&NONE, |extras| &extras.headers)
    }

    /// The fields of the body beside `message`; `None` if there are none.
    pub fn details(&self) -> Option<&Map<String, Value>> {
        let details = &self.extras.as_ref()?.details;
        (!details.is_empty()).then_some(details)
    }
}

#[cfg(test)]
mod tests {
    use serde::Serializer;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_failure_stays_small() {
        assert!(size_of::<Failure>() <= 64, "{}", size_of::<Failure>());
    }

    #[test]
    fn details_never_replace_the_message() {
        let failure = Failure::bad_payload("no").detail("message", "yes");
        assert_eq!(failure.details(), None);
        let Value::Object(fields) = json!({ "message": "yes", "field": "id" }) else {
            return;
        };
        let failure = failure.with_details(fields).detail("line", 7);
        assert_eq!(
            failure.details().cloned().map(Value::Object),
            Some(json!({ "field": "id", "line": 7 }))
        );
        assert_eq!(failure.message(), "no");
        assert_eq!(failure.with_details(Map::new()).details(), None);
    }

    #[test]
    fn a_detail_that_cannot_be_json_is_null() {
        struct Bad;

        impl Serialize for Bad {
            fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
                Err(serde::ser::Error::custom("bad"))
            }
        }

        let failure = Failure::bad_payload("no").detail("it", Bad);
        assert_eq!(failure.details().unwrap()["it"], Value::Null);
    }
}
