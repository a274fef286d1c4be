//! Errors of the composition.

/// Why a component cannot be composed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are no valid component.
    NotAComponent,
    /// The component imports a function or a type of WASI that this release does not have.
    Interface,
    /// The two components do not make a valid one.
    Compose,
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

    /// Why it cannot be composed.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}
