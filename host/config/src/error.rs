//! The error of this crate.

#[cfg(any(feature = "nats", feature = "sqlite"))]
use pointwork_core::causes;
use pointwork_core::error_type;

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
    /// The configuration names something of the host that is missing or unusable: a directory, a database.
    Host,
}

error_type! {
    /// A configuration cannot be used: one sentence, its causes, and a hint.
    ///
    /// `Display` is the sentence alone. It names the place: file, line and column, or the key of a program's settings.
    pub struct Error(ErrorKind);
    pub(crate) fn
}

#[cfg(any(feature = "nats", feature = "sqlite"))]
impl Error {
    /// Adds the causes of another error, without its own sentence.
    pub(crate) fn with_causes_of(mut self, error: &(dyn std::error::Error + 'static)) -> Self {
        let causes: Vec<_> = causes(error).map(ToString::to_string).collect();
        for cause in causes.into_iter().rev() {
            self.source = Some(Box::new(Self {
                source: self.source.take(),
                ..Self::new(self.kind, cause)
            }));
        }
        self
    }
}
