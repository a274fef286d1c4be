//! Native channels that a configuration can name: what the host brings so that a controller has somewhere to keep its data.
//!
//! A driver knows nothing of requests, instances or an executor. It blocks; whoever calls it from an executor does so on
//! a thread that may.

pub(crate) mod sqlite;

use std::error::Error as StdError;
use std::fmt;

/// Why a driver did not do what an event asked of it.
///
/// `Display` is what the caller in the module gets to read, and may pass on to a client: it names the caller's own words,
/// never the database's inner life. That is in `source()`, for the log.
#[derive(Debug)]
pub(crate) struct Failure {
    code: Code,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The word that a module sees as the code of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    /// No statement listens to the event.
    UnknownEvent,
    /// The payload lacks a field, or a value breaks a rule of the database for values.
    BadPayload,
    /// The change contradicts what is stored: a key that exists, a reference to nothing.
    Conflict,
    /// The time of the chain of calls ran out.
    Deadline,
    /// The database was locked for too long.
    Overloaded,
    /// Anything else.
    Failed,
}

impl Code {
    /// The word at the boundary.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::UnknownEvent => "unknown-event",
            Self::BadPayload => "bad-payload",
            Self::Conflict => "conflict",
            Self::Deadline => "deadline",
            Self::Overloaded => "overloaded",
            Self::Failed => "failed",
        }
    }

    /// The HTTP status of a request that ends with it.
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::BadPayload => 400,
            Self::Conflict => 409,
            Self::Overloaded => 503,
            Self::Deadline => 504,
            Self::UnknownEvent | Self::Failed => 500,
        }
    }
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            source: None,
        }
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What kind of failure it is.
    pub(crate) fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Failure {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}
