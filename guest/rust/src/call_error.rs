use std::error::Error;
use std::fmt;

use crate::bindings::types::Failure;
use crate::throw::Throw;

/// The error of a call: a function of the host or a listener failed.
///
/// In a handler, `?` converts it into a [`Throw`] with the same [`status`](Self::status). The message reaches the
/// client only with a status below 500; otherwise it is logged, and the client gets a general sentence. In a listener,
/// `?` converts it into a [`Failure`](crate::Failure) with the same code, status and message.
#[derive(Clone, Debug)]
pub struct CallError {
    /// A function of the host or an event.
    called: &'static str,
    failure: Failure,
}

impl CallError {
    /// Makes the error of a call from its failure.
    pub(crate) fn of(called: &'static str) -> impl FnOnce(Failure) -> Self {
        move |failure| Self { called, failure }
    }

    /// A payload or result that cannot be converted.
    pub(crate) fn bad_payload(event: &'static str, message: String) -> Self {
        Self::of(event)(failure("bad-payload", 500, message))
    }

    /// The kind of failure, from an open list: `unknown-event`, `ambiguous-event`, `bad-payload`, `already-replied`,
    /// `invalid-reply`, `too-large`, `too-deep`, `deadline`, `overloaded`, `gone`, `failed`. Treat an unknown code like
    /// `failed`.
    pub fn code(&self) -> &str {
        &self.failure.code
    }

    /// The HTTP status for a reply with this failure.
    pub fn status(&self) -> u16 {
        self.failure.status
    }

    /// One sentence for humans.
    pub fn message(&self) -> &str {
        &self.failure.message
    }
}

/// A failure in the types of the contract.
pub(crate) fn failure(code: &str, status: u16, message: impl Into<String>) -> Failure {
    Failure {
        code: code.into(),
        status,
        message: message.into(),
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { code, message, .. } = &self.failure;
        write!(f, "`{}` failed with `{code}`: {message}", self.called)
    }
}

impl Error for CallError {}

impl From<CallError> for Throw {
    fn from(error: CallError) -> Self {
        let status = error.status();
        if status < 500 {
            return Self::new(status, error.failure.message);
        }
        crate::log::error!("{error}");
        Self::new(status, "the server could not answer the request")
    }
}
