//! The error of the command line.

use std::error::Error as StdError;
use std::fmt;

use pointwork::ErrorKind;

use crate::exit::Exit;

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a command did not do what it was asked: one sentence, the cause below it, and what to do about it.
///
/// `Display` is the sentence alone; [`Terminal::error`](crate::ui::Terminal::error) prints the whole.
#[derive(Debug)]
pub(crate) struct Error {
    exit: Exit,
    message: String,
    hint: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error with the given exit code.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self {
            exit,
            message: message.into(),
            hint: None,
            source: None,
        }
    }

    /// What was asked for failed: [`Exit::Failed`].
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    /// A component is refused, said in words of one's own in the place of the runtime's sentence; its causes and its hint
    /// are kept.
    pub(crate) fn refused(message: impl Into<String>, error: pointwork::Error) -> Self {
        let refused = Self {
            hint: error.hint().map(str::to_owned),
            ..Self::new(exit_of(error.kind()), message)
        };
        match error.source() {
            Some(_) => refused.with_source(Below(error)),
            None => refused,
        }
    }

    /// A component is refused, with the runtime's sentence as the cause.
    pub(crate) fn refused_because(message: impl Into<String>, error: pointwork::Error) -> Self {
        Self {
            hint: error.hint().map(str::to_owned),
            ..Self::new(exit_of(error.kind()), message)
        }
        .with_source(error)
    }

    /// The same with another exit code.
    pub(crate) fn with_exit(self, exit: Exit) -> Self {
        Self { exit, ..self }
    }

    /// Adds what the reader can do about it: a sentence or a command. It may have several lines.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds the cause.
    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds causes that came as text, the nearest first.
    pub(crate) fn with_causes(
        mut self,
        causes: impl IntoIterator<Item = String, IntoIter: DoubleEndedIterator>,
    ) -> Self {
        let chain = causes.into_iter().rev().fold(None, |below, message| {
            Some(Box::new(Self {
                source: below.map(|below: Box<Self>| below as _),
                ..Self::new(self.exit, message)
            }))
        });
        if let Some(cause) = chain {
            self.source = Some(cause);
        }
        self
    }

    /// The sentence and its causes, for a line of the log.
    pub(crate) fn in_one_line(&self) -> String {
        let mut line = self.message.clone();
        let mut source = self.source();
        while let Some(cause) = source {
            line.push_str(": ");
            line.push_str(&cause.to_string());
            source = cause.source();
        }
        line
    }

    /// The code that the process ends with.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// What the reader can do about it.
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn StdError + 'static))
    }
}

impl From<pointwork::Error> for Error {
    fn from(error: pointwork::Error) -> Self {
        Self::refused(error.to_string(), error)
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

/// The causes of an error whose own sentence stands elsewhere.
#[derive(Debug)]
struct Below(pointwork::Error);

impl fmt::Display for Below {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.source() {
            Some(cause) => fmt::Display::fmt(cause, f),
            None => fmt::Display::fmt(&self.0, f),
        }
    }
}

impl StdError for Below {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source()?.source()
    }
}
