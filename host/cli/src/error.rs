//! The error of the command line.

use std::error::Error as StdError;
use std::fmt::Display;

use pointwork::ErrorKind;
use pointwork_core::{causes, error_type};

use crate::exit::Exit;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

error_type! {
    /// The failure of a command: one sentence, its causes, and a hint.
    ///
    /// `Display` is the sentence alone; [`Terminal::error`](crate::ui::Terminal::error) prints all of it.
    pub(crate) struct Error(Exit);
    pub(crate) fn
}

impl Error {
    /// An error with the exit code [`Exit::Failed`].
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// A component is refused: `message` takes the place of the runtime's sentence, above its causes.
    pub(crate) fn refused(message: impl Into<String>, error: &pointwork::Error) -> Self {
        Self::new(exit_of(error.kind()), message)
            .with_causes_of(error)
            .with_optional_hint(error.hint())
    }

    /// A component is refused: the runtime's sentence is the first cause.
    pub(crate) fn refused_because(message: impl Into<String>, error: pointwork::Error) -> Self {
        Self::new(exit_of(error.kind()), message)
            .with_optional_hint(error.hint())
            .with_source(error)
    }

    pub(crate) fn with_exit(self, exit: Exit) -> Self {
        Self { kind: exit, ..self }
    }

    /// Adds causes that came as text, the nearest first.
    pub(crate) fn with_causes(mut self, causes: Vec<String>) -> Self {
        for message in causes.into_iter().rev() {
            self.source = Some(Box::new(Self {
                source: self.source.take(),
                ..Self::new(self.kind, message)
            }));
        }
        self
    }

    /// Adds the causes of another error, without its own sentence.
    pub(crate) fn with_causes_of(self, error: &(dyn StdError + 'static)) -> Self {
        self.with_causes(causes(error).map(ToString::to_string).collect())
    }

    pub(crate) fn exit(&self) -> Exit {
        self.kind
    }
}

/// Results whose error becomes the cause of a failed command.
pub(crate) trait OrFailed<T> {
    /// Puts a sentence above the error, with the exit code [`Exit::Failed`].
    fn or_failed(self, message: impl Display) -> Result<T>;
}

impl<T, E: Into<Box<dyn StdError + Send + Sync>>> OrFailed<T> for Result<T, E> {
    fn or_failed(self, message: impl Display) -> Result<T> {
        self.map_err(|error| Error::failed(message.to_string()).with_source(error))
    }
}

impl From<pointwork_config::Error> for Error {
    fn from(error: pointwork_config::Error) -> Self {
        Self::new(Exit::Config, error.to_string())
            .with_causes_of(&error)
            .with_optional_hint(error.hint())
    }
}

impl From<pointwork::Error> for Error {
    fn from(error: pointwork::Error) -> Self {
        Self::refused(error.to_string(), &error)
    }
}

fn exit_of(kind: ErrorKind) -> Exit {
    match kind {
        ErrorKind::NotAComponent
        | ErrorKind::WrongWorld
        | ErrorKind::WrongVersion
        | ErrorKind::ForbiddenImport
        | ErrorKind::Compile
        | ErrorKind::Probe
        | ErrorKind::Refused => Exit::Refused,
        _ => Exit::Failed,
    }
}
