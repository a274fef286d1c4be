//! The error of the command line.

use std::error::Error as StdError;
use std::fmt::Display;
use std::iter::successors;

use pointwork::ErrorKind;

use crate::exit::Exit;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// The failure of a command: one sentence, its causes, and a hint.
///
/// `Display` is the sentence alone; [`Terminal::error`](crate::ui::Terminal::error) prints all of it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Error {
    exit: Exit,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            hint: None,
            source: None,
        }
    }

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
        Self { exit, ..self }
    }

    /// Adds a hint for the reader: a sentence or a command. It may have several lines.
    pub(crate) fn with_hint(self, hint: impl Into<String>) -> Self {
        self.with_optional_hint(Some(hint))
    }

    /// Adds a hint where there is one.
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

    /// Adds causes that came as text, the nearest first.
    pub(crate) fn with_causes(mut self, causes: Vec<String>) -> Self {
        for message in causes.into_iter().rev() {
            self.source = Some(Box::new(Self {
                source: self.source.take(),
                ..Self::new(self.exit, message)
            }));
        }
        self
    }

    /// Adds the causes of another error, without its own sentence.
    pub(crate) fn with_causes_of(self, error: &(dyn StdError + 'static)) -> Self {
        self.with_causes(causes(error).map(ToString::to_string).collect())
    }

    /// The causes, the nearest first.
    pub(crate) fn causes(&self) -> impl Iterator<Item = &(dyn StdError + 'static)> {
        causes(self)
    }

    /// The sentence and its causes, for a line of the log.
    pub(crate) fn in_one_line(&self) -> String {
        self.causes()
            .fold(self.message.clone(), |line, cause| format!("{line}: {cause}"))
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    successors(error.source(), |&cause| cause.source())
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
