//! Errors of putting an application together.

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A path pattern does not parse.
    Pattern,
    /// A method is not an HTTP token.
    Method,
    /// The declarations of a module are refused.
    Declaration,
    /// Two routes match the same requests.
    Conflict,
    /// The name of a channel or an event is invalid.
    EventName,
    /// An event of a channel already has a listener.
    DuplicateListener,
    /// The application was closed.
    Closed,
    /// An adapter cannot do the requested operation.
    Adapter,
}

/// An error of putting an application together. It names the thing, the place and the expectation.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error with a message of its own level. The cause goes to [`with_source`](Self::with_source).
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            source: None,
        }
    }

    /// Adds the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}
