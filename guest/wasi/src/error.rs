//! Errors of the composition.

/// What cannot be composed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are no valid component.
    NotAComponent,
    /// The component imports what this release does not have.
    Interface,
    /// The result cannot be encoded.
    Encode,
}

/// A component cannot be composed.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Box<dyn std::error::Error + Send + Sync>,
}

impl Error {
    pub(crate) fn new(
        kind: ErrorKind,
        message: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self {
            kind,
            message: message.into(),
            source: source.into(),
        }
    }

    /// What cannot be composed.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}
