//! What can go wrong when an application is put together.

use std::fmt;

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A path pattern does not parse.
    Pattern,
    /// A method is no HTTP token.
    Method,
    /// A module's declarations are refused.
    Declaration,
    /// Two routes want the same requests.
    Conflict,
    /// A channel or an event has a name that cannot be one.
    EventName,
    /// An event of a channel has a listener already.
    DuplicateListener,
    /// An adapter cannot do what it is asked.
    Adapter,
}

/// An error in putting an application together: it names the thing, the place and what was expected.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error with a message of one level; the cause belongs into [`with_source`](Self::with_source).
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// The same, with what caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as _)
    }
}
