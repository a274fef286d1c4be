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
    function: &'static str,
    code: String,
    status: u16,
    message: String,
}

impl CallError {
    /// The failure of a function of the host, or of the listener of an event.
    pub(crate) fn new(function: &'static str, failure: Failure) -> Self {
        Self {
            function,
            code: failure.code,
            status: failure.status,
            message: failure.message,
        }
    }

    /// A payload or result that cannot be converted.
    pub(crate) fn bad_payload(event: &'static str, message: String) -> Self {
        Self {
            function: event,
            code: "bad-payload".into(),
            status: 500,
            message,
        }
    }

    /// The kind of failure, from an open list: `unknown-event`, `ambiguous-event`, `bad-payload`, `already-replied`,
    /// `invalid-reply`, `too-large`, `too-deep`, `deadline`, `overloaded`, `gone`, `failed`. Treat an unknown code like
    /// `failed`.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The HTTP status for a reply with this failure.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// One sentence for humans.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` failed with `{}`: {}", self.function, self.code, self.message)
    }
}

impl Error for CallError {}

impl From<CallError> for Throw {
    fn from(error: CallError) -> Self {
        if error.status < 500 {
            return Self::new(error.status, error.message);
        }
        crate::log::error!("{error}");
        Self::new(error.status, "the server could not answer the request")
    }
}
