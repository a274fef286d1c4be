//! Errors in the declarations of a module.

use std::fmt;

use pointwork_patterns::PatternError;
use pointwork_patterns::text::excerpt;

use super::{MAX_NAME_BYTES, MAX_PATTERN_BYTES, MAX_ROUTES, MAX_TOTAL_PATTERN_BYTES};
use crate::error::lines;
use crate::routing::method::MethodError;

/// One error in the declarations of a module. It has no `source()`: its message contains the text of the cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct DeclarationError {
    module: String,
    controller: Option<String>,
    handler: Option<String>,
    kind: DeclarationErrorKind,
}

/// The kind of a [`DeclarationError`].
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[non_exhaustive]
pub enum DeclarationErrorKind {
    /// The method is not an HTTP token (spec D10).
    Method(MethodError),
    /// The prefix or the path is not a valid pattern.
    Pattern(PatternError),
    /// The controller or handler has no name.
    #[display("the name is empty, expected the name in the source")]
    EmptyName,
    /// The name of the controller or handler is too long.
    #[display("the name has {bytes} bytes, expected at most {MAX_NAME_BYTES}")]
    NameTooLong {
        /// Its size in bytes.
        bytes: usize,
    },
    /// The name of the controller or handler contains a character that [`is_unprintable`](crate::is_unprintable).
    #[display("the name has `{}` at byte {position}, expected a printable character", found.escape_unicode())]
    NameCharacter {
        /// Its byte offset.
        position: usize,
        /// The character.
        found: char,
    },
    /// The method is too long.
    #[display("method `{}` has {} bytes, expected at most {MAX_NAME_BYTES}", excerpt(text), text.len())]
    MethodTooLong {
        /// The method.
        text: String,
    },
    /// Prefix and path together are too long.
    #[display(
        "prefix and path have {bytes} bytes, expected at most {MAX_PATTERN_BYTES}: `{}`",
        excerpt(text)
    )]
    PatternTooLong {
        /// The longer of the two.
        text: String,
        /// The size of both in bytes.
        bytes: usize,
    },
    /// The module has too many routes.
    #[display("it declares {count} routes, expected at most {MAX_ROUTES}")]
    TooManyRoutes {
        /// The number of routes that it declares.
        count: usize,
    },
    /// The full paths of the module's routes are too long together.
    #[display("its paths have {bytes} bytes together, expected at most {MAX_TOTAL_PATTERN_BYTES}")]
    TooMuchPatternText {
        /// Their size in bytes.
        bytes: usize,
    },
}

impl DeclarationError {
    pub(super) fn new(
        module: &str,
        controller: Option<&str>,
        handler: Option<&str>,
        kind: DeclarationErrorKind,
    ) -> Self {
        // Each of thousands of errors may have the same long name.
        let start = |name: &str| name[..name.floor_char_boundary(MAX_NAME_BYTES)].to_owned();
        Self {
            module: module.to_owned(),
            controller: controller.map(start),
            handler: handler.map(start),
            kind,
        }
    }

    /// The module's name.
    pub fn module(&self) -> &str {
        &self.module
    }

    /// The start of the controller's name, which may be too long; `None` if the error concerns the whole module.
    pub fn controller(&self) -> Option<&str> {
        self.controller.as_deref()
    }

    /// The start of the handler's name, which may be too long; `None` if the error concerns the controller or the whole module.
    pub fn handler(&self) -> Option<&str> {
        self.handler.as_deref()
    }

    /// The kind of error.
    pub fn kind(&self) -> &DeclarationErrorKind {
        &self.kind
    }
}

impl fmt::Display for DeclarationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(handler) = &self.handler {
            write!(f, "handler `{}` of ", excerpt(handler))?;
        }
        if let Some(controller) = &self.controller {
            write!(f, "controller `{}` of ", excerpt(controller))?;
        }
        write!(f, "module `{}`: {}", excerpt(&self.module), self.kind)
    }
}

/// All errors in the declarations of one module; at least one. Displayed, each has a line, and those past 20 are counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", lines(list))]
pub struct DeclarationErrors {
    pub(super) list: Vec<DeclarationError>,
}

impl DeclarationErrors {
    /// The errors in the order of declaration; those of the whole module come last.
    pub fn list(&self) -> &[DeclarationError] {
        &self.list
    }
}
