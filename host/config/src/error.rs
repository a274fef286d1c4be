//! The error of this crate.

use std::error::Error as StdError;
use std::iter::successors;

/// A result whose error is [`Error`] by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason for an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file cannot be read.
    Unreadable,
    /// The configuration is invalid.
    Invalid,
    /// The configuration names something of the host that is missing or unusable: a variable, a directory, a database.
    Host,
}

/// A configuration cannot be used: one sentence, its causes, and a hint.
///
/// `Display` is the sentence alone. It names the place: file, line and column, or the key of a program's settings.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
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

    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        self.with_optional_hint(Some(hint))
    }

    pub(crate) fn with_optional_hint(self, hint: Option<impl Into<String>>) -> Self {
        Self {
            hint: hint.map(Into::into),
            ..self
        }
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds the causes of another error, without its own sentence.
    #[cfg(feature = "sqlite")]
    pub(crate) fn with_causes_of(mut self, error: &(dyn StdError + 'static)) -> Self {
        let causes: Vec<_> = causes(error).map(ToString::to_string).collect();
        for cause in causes.into_iter().rev() {
            self.source = Some(Box::new(Self {
                source: self.source.take(),
                ..Self::new(self.kind, cause)
            }));
        }
        self
    }

    /// The reason.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The remedy, if it is known. It may have several lines.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// The sentence of an error and its causes, for a line of the log.
pub(crate) fn in_one_line(error: &(dyn StdError + 'static)) -> String {
    causes(error).fold(error.to_string(), |line, cause| format!("{line}: {cause}"))
}

fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    successors(error.source(), |&cause| cause.source())
}
