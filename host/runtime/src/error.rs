//! What can go wrong between an application and its modules.

use std::fmt;

/// What kind of error it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file could not be read.
    Read,
    /// The bytes are no WebAssembly component.
    NotAComponent,
    /// The component lacks what a module exports: another world, or a truncated file.
    WrongWorld,
    /// The component was built against a version of the contract that this host does not know.
    WrongVersion,
    /// The component imports something that it was not granted, or that no module may have.
    ForbiddenImport,
    /// The component does not compile, or does not link.
    Compile,
    /// The component trapped, or ran into a limit, while it was being loaded.
    Probe,
    /// A declaration, a manual route or a channel is refused; the source says why.
    Refused,
    /// The engine or its threads could not be set up.
    Engine,
    /// A directory of state or of compiled components cannot be used.
    State,
}

/// An error of the runtime: it names the module or the place, and what was expected.
#[derive(Debug)]
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

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The same, one level further out: which module it is about.
    pub(crate) fn in_module(self, name: &str) -> Self {
        let (kind, hint) = (self.kind, self.hint.clone());
        Self {
            kind,
            message: format!("module `{name}` is refused"),
            hint,
            source: Some(Box::new(self)),
        }
    }

    /// What kind of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// What to do about it, in one sentence, where that is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
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
