//! Errors of putting an application together, and the shape that the errors of all crates of the host have.

use std::error::Error as StdError;
use std::iter::successors;

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A path pattern does not parse.
    Pattern,
    /// A method is not an HTTP token.
    Method,
    /// The declarations of a module are refused.
    Declaration,
    /// Two routes match the same requests.
    Conflict,
    /// The name of a channel or an event is invalid.
    EventName,
    /// An event of a channel already has a listener.
    DuplicateListener,
    /// A channel cannot be made durable.
    Durable,
    /// The application was closed.
    Closed,
    /// An adapter cannot do the requested operation.
    Adapter,
}

/// Declares the error of a crate: a kind, a message of its own level, a hint and a cause. The second visibility is that of the
/// functions that make one.
#[doc(hidden)]
#[macro_export]
macro_rules! error_type {
    ($(#[$attribute:meta])* $vis:vis struct $Error:ident($Kind:ty); $made:vis fn) => {
        $(#[$attribute])*
        #[derive(Debug)]
        $vis struct $Error {
            kind: $Kind,
            message: ::std::string::String,
            hint: ::std::option::Option<::std::string::String>,
            source: ::std::option::Option<::std::boxed::Box<dyn ::std::error::Error + Send + Sync>>,
        }

        #[allow(dead_code, reason = "no crate needs all of them")]
        impl $Error {
            /// An error with a message of its own level. The cause goes to [`with_source`](Self::with_source).
            $made fn new(kind: $Kind, message: impl ::std::convert::Into<::std::string::String>) -> Self {
                let message = message.into();
                Self { kind, message, hint: None, source: None }
            }

            /// Adds the cause.
            #[must_use]
            $made fn with_source(
                mut self,
                source: impl ::std::convert::Into<::std::boxed::Box<dyn ::std::error::Error + Send + Sync>>,
            ) -> Self {
                self.source = Some(source.into());
                self
            }

            /// Adds a remedy for the reader: a sentence or a command. It may have several lines.
            #[must_use]
            $made fn with_hint(self, hint: impl ::std::convert::Into<::std::string::String>) -> Self {
                self.with_optional_hint(Some(hint))
            }

            /// Adds a remedy if there is one.
            #[must_use]
            $made fn with_optional_hint(
                mut self,
                hint: ::std::option::Option<impl ::std::convert::Into<::std::string::String>>,
            ) -> Self {
                self.hint = hint.map(::std::convert::Into::into);
                self
            }

            /// The kind of the error.
            $vis fn kind(&self) -> $Kind {
                self.kind
            }

            /// The remedy, if it is known. It may have several lines.
            $vis fn hint(&self) -> ::std::option::Option<&str> {
                self.hint.as_deref()
            }
        }

        impl ::std::fmt::Display for $Error {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&self.message)
            }
        }

        impl ::std::error::Error for $Error {
            fn source(&self) -> ::std::option::Option<&(dyn ::std::error::Error + 'static)> {
                Some(&**self.source.as_ref()?)
            }
        }
    };
}

error_type! {
    /// An error of putting an application together. It names the thing, the place and the expectation.
    pub struct Error(ErrorKind);
    pub fn
}

/// The causes of an error, the nearest first.
pub fn causes<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    successors(error.source(), |&cause| cause.source())
}

/// The messages of an error and of its causes, in one line.
pub fn error_chain(error: &(dyn StdError + 'static)) -> String {
    causes(error).fold(error.to_string(), |line, cause| format!("{line}: {cause}"))
}

/// One line for each item, at most 20, then the number of the items left out.
pub(crate) fn lines(items: &[impl ToString]) -> String {
    const SHOWN: usize = 20;
    let mut lines: Vec<_> = items.iter().take(SHOWN).map(ToString::to_string).collect();
    if items.len() > SHOWN {
        lines.push(format!("and {} more", items.len() - SHOWN));
    }
    lines.join("\n")
}
