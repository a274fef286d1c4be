//! A failure that may cross every boundary: to a client, to a guest, between channels.

use std::borrow::Cow;

use http::StatusCode;

use crate::{Crash, CrashKind};

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

/// An error that may end a request: the client gets [`status`](Self::status) and the body `{"message": …}` (spec H4).
///
/// Listeners return it to their callers, and a handler that returns `Err(Failure)` ends its request with it. The message
/// reaches the client; keep secrets out of it.
///
/// ```
/// use pointwork_core::{Failure, http::StatusCode};
///
/// let failure = Failure::new(StatusCode::NOT_FOUND, "no product has the id `7`");
/// assert_eq!(failure.to_string(), "no product has the id `7`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    code: FailureCode,
    status: StatusCode,
    message: String,
    /// A crash to report before the failure is returned to the caller.
    crash: Option<Box<Crash>>,
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
            crash: None,
        }
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
        Self {
            crash: Some(Box::new(crash)),
            ..Self::with_code(code, status, "the listener crashed")
        }
    }

    /// Takes the crash, to report it; the message names the event from now on.
    pub(crate) fn take_crash(&mut self, event: &str) -> Option<Crash> {
        let crash = self.crash.take()?;
        self.message = match crash.kind {
            CrashKind::Deadline => format!("the listener of `{event}` took too long"),
            CrashKind::Limit => format!("the listener of `{event}` has no room"),
            _ => format!("the listener of `{event}` crashed"),
        };
        Some(*crash)
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
}
