//! Errors of an application and its modules.

use pointwork_core::error_type;

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

error_type! {
    /// An error of the runtime. It names the module or the place, and the expectation.
    pub struct Error(ErrorKind);
    pub(crate) fn
}

impl Error {
    pub(crate) fn closed() -> Self {
        Self::new(ErrorKind::Closed, "the application is closed")
    }

    /// Wraps the error in one that names the module.
    pub(crate) fn in_module(self, name: &str) -> Self {
        let (kind, hint) = (self.kind, self.hint.clone());
        let message = format!("module `{name}` is refused");
        Self::new(kind, message).with_optional_hint(hint).with_source(self)
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
