//! A failure that may cross every boundary: to a client, to a guest, between channels.

use std::sync::LazyLock;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use pointwork_events::PayloadError;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Crash, CrashKind, FailureCode, Fault};

/// The field of an error's body that no detail may have.
const MESSAGE: &str = "message";

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
    /// The event whose call failed by a mistake between the caller and the listener.
    mistaken_call: Option<String>,
    /// The kind of the crash behind the failure, and the party at fault of the crash; `None` without a crash.
    crashed: Option<(CrashKind, Fault)>,
    /// Whether the log has a line for the failure.
    is_reported: bool,
}

impl From<PayloadError> for Failure {
    /// [`BAD_PAYLOAD`](FailureCode::BAD_PAYLOAD): with the status 400 for a payload that does not fit, with 500 for a value that
    /// JSON cannot hold.
    fn from(error: PayloadError) -> Self {
        let message = format!("payload: {error}");
        match error {
            PayloadError::Write(_) => {
                Self::with_code(FailureCode::BAD_PAYLOAD, StatusCode::INTERNAL_SERVER_ERROR, message)
            }
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

    /// A failure of that code, with the status and the `Retry-After` that [follow from the code](FailureCode::consequences).
    pub fn of(code: FailureCode, message: impl Into<String>) -> Self {
        let consequences = code.consequences();
        let failure = Self::with_code(code, consequences.status, message);
        match consequences.retry_after {
            Some(time) => failure.retry_after(time),
            None => failure,
        }
    }

    /// A failure of that code with another status than the code's own; for a failure that an application raises.
    ///
    /// A status below 400 becomes 500: a failure must not look like a success.
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

    /// The same with that time as `Retry-After`, in place of an earlier one: whole seconds, rounded up, at least 1 (RFC 9110,
    /// section 10.2.3).
    #[must_use]
    pub fn retry_after(mut self, time: Duration) -> Self {
        let seconds = (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1);
        let headers = &mut self.extras.get_or_insert_default().headers;
        headers.insert(RETRY_AFTER, seconds.into());
        self
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
        let mut failure = Self::of(crash.kind.code(), "the listener crashed");
        let extras = failure.extras.get_or_insert_default();
        extras.crashed = Some((crash.kind, crash.fault()));
        extras.crash = Some(crash);
        failure
    }

    /// The error that a client gets for a crash: the status, without any detail.
    pub(crate) fn for_client(crash: &Crash) -> Self {
        let mut failure = Self::of(crash.kind.code(), crash.kind.public_message()).reported();
        failure.extras.get_or_insert_default().crashed = Some((crash.kind, crash.fault()));
        failure
    }

    /// The failure as the caller of that event gets it. A mistake between the caller and the listener, such as a payload without a
    /// field, is the fault of the caller and not of the client: its status is 500, and a client never gets its message.
    pub(crate) fn after_call(mut self, event: &str) -> Self {
        if !self.code.consequences().is_shown_after_call {
            self.status = StatusCode::INTERNAL_SERVER_ERROR;
            self.extras.get_or_insert_default().mistaken_call = Some(event.to_owned());
        }
        self
    }

    /// The event whose call failed by a mistake of the caller; the client of the caller gets a general sentence.
    pub(crate) fn mistaken_call(&self) -> Option<&str> {
        self.extras.as_ref()?.mistaken_call.as_deref()
    }

    /// Whether a client gets a general sentence in place of the message, because the failure ends a request with status 500 and
    /// its code is [internal](FailureCode::consequences).
    pub(crate) fn is_hidden(&self) -> bool {
        let is_internal = || !self.code.consequences().is_shown_after_call;
        self.status == StatusCode::INTERNAL_SERVER_ERROR && is_internal()
    }

    /// The same, marked as a failure for which the log has a line.
    pub(crate) fn reported(mut self) -> Self {
        self.extras.get_or_insert_default().is_reported = true;
        self
    }

    /// Whether the log has a line for the failure already.
    pub(crate) fn is_reported(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.is_reported)
    }

    /// The party at fault if the failure ends a request: the party of the crash behind the failure, or of the code. For a status below
    /// 500, which is an answer about the request, the client is at fault. A code of the client with a status from 500 on is a mistake of
    /// the code that sent the payload (spec E6).
    pub fn fault(&self) -> Fault {
        let fault = self.fault_of_cause();
        if self.status.is_client_error() {
            Fault::Client
        } else if fault == Fault::Client {
            Fault::Module
        } else {
            fault
        }
    }

    /// The party at fault if the failure ends an event that nobody waits for. No client sent the payload, so no client is at
    /// fault.
    pub(crate) fn fault_of_event(&self) -> Fault {
        match self.fault_of_cause() {
            Fault::Client => Fault::Module,
            fault => fault,
        }
    }

    fn fault_of_cause(&self) -> Fault {
        let of_crash = self.crashed().map(|(_, fault)| fault);
        of_crash.unwrap_or_else(|| self.code.consequences().fault)
    }

    fn crashed(&self) -> Option<(CrashKind, Fault)> {
        self.extras.as_ref()?.crashed
    }

    /// Whether the failure is a mistake of the code that called an event or a function of the context (spec E6). A host in another
    /// language raises the failure as an exception, and treats an uncaught one like any other uncaught exception.
    pub fn is_mistake(&self) -> bool {
        self.is_hidden() && self.fault() == Fault::Module
    }

    /// Takes the crash, to report it; the message names the event from now on.
    pub(crate) fn take_crash(&mut self, event: &str) -> Option<Crash> {
        let extras = self.extras.as_mut()?;
        let crash = extras.crash.take()?;
        extras.is_reported = true;
        self.message = match crash.kind {
            CrashKind::Deadline => format!("the listener of `{event}` took too long"),
            CrashKind::Limit => format!("the listener of `{event}` has no room"),
            CrashKind::Exception => format!("the listener of `{event}` raised an exception"),
            _ => format!("the listener of `{event}` crashed"),
        };
        Some(crash)
    }

    /// A payload or a body that is not of the declared type: 400.
    pub fn bad_payload(message: impl Into<String>) -> Self {
        Self::of(FailureCode::BAD_PAYLOAD, message)
    }

    /// The request already has its reply (spec H7).
    pub fn already_replied() -> Self {
        Self::of(FailureCode::ALREADY_REPLIED, "the request already has its reply")
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

    /// The sentence for the client of a request that the failure ends. That of a crash names no event: the log does.
    pub(crate) fn message_for_client(&self) -> &str {
        self.crashed().map_or(&self.message, |(kind, _)| kind.public_message())
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

    /// Spec E6.
    #[test]
    fn a_mistake_between_caller_and_listener_is_no_business_of_the_client() {
        let failure = Failure::bad_payload("the payload has no field `id`").after_call("db:one");
        assert_eq!(
            (failure.code(), failure.status().as_u16()),
            (&FailureCode::BAD_PAYLOAD, 500)
        );
        assert_eq!(
            failure.message(),
            "the payload has no field `id`",
            "the caller reads it"
        );
        let reply = crate::failure_reply(&failure);
        assert_eq!(reply.status(), 500);
        let body = reply.into_body().try_into_bytes().expect("a whole body");
        assert_eq!(body, r#"{"message":"internal error"}"#);
        let raised = Failure::new(StatusCode::NOT_FOUND, "no such product").after_call("db:one");
        assert_eq!((raised.status().as_u16(), raised.mistaken_call()), (404, None));
    }

    /// Spec E6.
    #[test]
    fn a_crashed_listener_is_no_business_of_the_client() {
        for (kind, status, expected) in [
            (CrashKind::Panic, 500, "internal error"),
            (CrashKind::Deadline, 504, "the request took too long"),
            (CrashKind::Limit, 503, "the server is busy"),
        ] {
            let mut failure = Failure::of_crash(Crash::new(kind, "no such table"));
            assert!(failure.take_crash("db:one").is_some());
            assert!(failure.message().contains("`db:one`"), "the caller reads it");
            let reply = crate::failure_reply(&failure.after_call("db:one"));
            assert_eq!(reply.status(), status);
            let body = reply.into_body().try_into_bytes().expect("a whole body");
            assert_eq!(body, format!(r#"{{"message":"{expected}"}}"#));
        }
    }

    #[test]
    fn a_retry_header_has_whole_seconds() {
        let after =
            |time| Failure::of(FailureCode::OVERLOADED, "busy").retry_after(time).headers()[RETRY_AFTER].clone();
        assert_eq!(after(Duration::ZERO), "1");
        assert_eq!(after(Duration::from_millis(1_001)), "2");
        assert_eq!(
            Failure::of(FailureCode::UNREACHABLE, "gone").headers()[RETRY_AFTER],
            "1"
        );
        assert!(Failure::bad_payload("no").headers().is_empty());
    }

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
