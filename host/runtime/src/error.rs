//! Errors of an application and its modules.

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file could not be read.
    Read,
    /// The bytes are not a WebAssembly component.
    NotAComponent,
    /// The component does not export a world of the contract, or is truncated.
    WrongWorld,
    /// The component was built against a version of the contract that this host does not support.
    WrongVersion,
    /// The component has an import that is not granted, or that no module may have.
    ForbiddenImport,
    /// The component does not compile or link.
    Compile,
    /// The component trapped or exceeded a limit while it was loaded.
    Probe,
    /// A declaration, a manual route or a channel is refused; the source has the reason.
    Refused,
    /// The application is closed.
    Closed,
    /// The engine or its threads do not start.
    Engine,
    /// The state directory or the cache directory cannot be used.
    State,
}

/// An error of the runtime. It names the module or the place, and the expectation.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            source: None,
        }
    }

    pub(crate) fn closed() -> Self {
        Self::new(ErrorKind::Closed, "the application is closed")
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Wraps the error in one that names the module.
    pub(crate) fn in_module(self, name: &str) -> Self {
        let (kind, hint) = (self.kind, self.hint.clone());
        Self {
            kind,
            message: format!("module `{name}` is refused"),
            hint,
            source: Some(Box::new(self)),
        }
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The remedy, in one sentence, if it is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl From<pointwork_core::Error> for Error {
    fn from(error: pointwork_core::Error) -> Self {
        Self::new(ErrorKind::Refused, "the adapter cannot be connected").with_source(error)
    }
}

/// Makes the error of a result the source of an [`Error`].
pub(crate) trait OrError<T> {
    fn or_error(self, kind: ErrorKind, message: impl Into<String>) -> Result<T, Error>;
}

impl<T, E: Into<Box<dyn std::error::Error + Send + Sync>>> OrError<T> for Result<T, E> {
    fn or_error(self, kind: ErrorKind, message: impl Into<String>) -> Result<T, Error> {
        self.map_err(|source| Error::new(kind, message).with_source(source))
    }
}
