//! Errors of opening a database.

/// The step that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The database cannot be opened or created.
    Database,
    /// The schema cannot be read, or fails.
    Schema,
    /// The statement of an event is invalid; [`Error::event`] names it.
    Statement,
}

/// The database of a channel cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
    event: Option<String>,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            event: None,
            hint: None,
            source: None,
        }
    }

    pub(crate) fn of_event(event: &str) -> Self {
        Self {
            event: Some(event.to_owned()),
            ..Self::new(
                ErrorKind::Statement,
                format!("the statement of event `{event}` is invalid"),
            )
        }
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The step that failed.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The event whose statement is invalid.
    pub fn event(&self) -> Option<&str> {
        self.event.as_deref()
    }

    /// What to do about it, in one sentence, where that is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}
