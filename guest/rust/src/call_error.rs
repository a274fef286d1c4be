use std::error::Error;
use std::fmt;

use crate::bindings::types::Failure;
use crate::reply::Throw;

/// Why a function of the host, or a listener, did not do what it was asked.
///
/// `?` turns it into a [`Throw`], so that a handler which does not care replies with the [`status`](Self::status) that
/// the host proposes. A message for a status of 500 and above stays in the host's log: the client gets a plain sentence.
/// In a listener `?` turns it into a [`Failure`](crate::Failure), which passes it on to the listener's caller as it is.
#[derive(Clone, Debug)]
pub struct CallError {
    what: &'static str,
    code: String,
    status: u16,
    message: String,
}

impl CallError {
    pub(crate) fn new(what: &'static str, failure: Failure) -> Self {
        Self {
            what,
            code: failure.code,
            status: failure.status,
            message: failure.message,
        }
    }

    pub(crate) fn unwritable(what: &'static str, error: &serde_json::Error) -> Self {
        Self {
            what,
            code: "bad-payload".into(),
            status: 500,
            message: format!("the payload is no JSON: {error}"),
        }
    }

    pub(crate) fn unreadable(what: &'static str, message: String) -> Self {
        Self {
            what,
            code: "bad-payload".into(),
            status: 500,
            message: format!("the result does not fit: {message}"),
        }
    }

    /// The kind of failure, a word from an open list: `unknown-event`, `ambiguous-event`, `bad-payload`,
    /// `already-replied`, `invalid-reply`, `too-large`, `too-deep`, `deadline`, `overloaded`, `gone`, `failed`. Treat a
    /// word that you do not know like `failed`.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The HTTP status that fits the failure, if it ends the request.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// One sentence for people.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` failed with `{}`: {}", self.what, self.code, self.message)
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
