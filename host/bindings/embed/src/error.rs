//! Errors of the bindings.

use pointwork_core::error_chain;

/// The kind of an error: a class of exceptions in languages that have such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A component is not one, was built against another version of the contract, imports more than it is granted, or does not
    /// compile.
    Component,
    /// A declaration of a module, a route, a listener or a change is refused.
    Refused,
    /// A setting is invalid.
    Settings,
    /// A file, a directory, an address or another thing of the host cannot be used.
    Host,
    /// The application is closed.
    Closed,
    /// The process was forked after the application was started.
    Forked,
    /// Requests are answered within one another without end.
    Nested,
    /// A time that the caller set is over.
    TimedOut,
    /// The engine or its threads do not start.
    Engine,
}

impl ErrorKind {
    /// The kind as a word in kebab case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Component => "component",
            Self::Refused => "refused",
            Self::Settings => "settings",
            Self::Host => "host",
            Self::Closed => "closed",
            Self::Forked => "forked",
            Self::Nested => "nested",
            Self::TimedOut => "timed-out",
            Self::Engine => "engine",
        }
    }
}

/// An error of an application, as its host's language shows it: the kind, and its text, which names its causes.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

impl Error {
    /// An error of that kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { kind, message }
    }

    /// The same with its cause behind the message.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + 'static) -> Self {
        self.message = format!("{}: {}", self.message, error_chain(&source));
        self
    }

    /// The kind.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl From<pointwork::Error> for Error {
    fn from(error: pointwork::Error) -> Self {
        use pointwork::ErrorKind as Kind;
        let kind = match error.kind() {
            Kind::NotAComponent
            | Kind::WrongWorld
            | Kind::WrongVersion
            | Kind::ForbiddenImport
            | Kind::Compile
            | Kind::Probe => ErrorKind::Component,
            Kind::Closed => ErrorKind::Closed,
            Kind::Engine => ErrorKind::Engine,
            Kind::Read | Kind::State => ErrorKind::Host,
            _ => ErrorKind::Refused,
        };
        let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        Self::new(kind, format!("{}{hint}", error_chain(&error)))
    }
}

impl From<pointwork_config::Error> for Error {
    fn from(error: pointwork_config::Error) -> Self {
        let kind = match error.kind() {
            pointwork_config::ErrorKind::Invalid => ErrorKind::Settings,
            _ => ErrorKind::Host,
        };
        let hint = error.hint().map(|hint| format!(" ({hint})")).unwrap_or_default();
        Self::new(kind, format!("{}{hint}", error_chain(&error)))
    }
}

impl From<pointwork_core::Error> for Error {
    fn from(error: pointwork_core::Error) -> Self {
        use pointwork_core::ErrorKind as Kind;
        let kind = match error.kind() {
            Kind::Adapter => ErrorKind::Host,
            Kind::Closed => ErrorKind::Closed,
            _ => ErrorKind::Refused,
        };
        Self::new(kind, error_chain(&error))
    }
}
