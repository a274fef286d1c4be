//! Why a path is no pattern.

use std::fmt;

use crate::routing::text::excerpt;

/// A path does not follow the grammar of [`Pattern`](super::Pattern).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    text: String,
    position: usize,
    kind: PatternErrorKind,
}

/// What is wrong with a path.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternErrorKind {
    /// Two slashes with nothing between them.
    EmptySegment,
    /// `:` or `*` without a name.
    EmptyName,
    /// A character that a parameter's name may not hold there.
    NameCharacter(char),
    /// A parameter's name for the second time.
    DuplicateName(String),
    /// Something after `*name`, which is the name here.
    AfterRest(String),
    /// `:` or `*` within a literal.
    MarkerInLiteral(char),
    /// A character that no path may hold as it is: `?`, `#`, white space or a control character.
    Character(char),
    /// A `%` without two hexadecimal digits after it.
    Escape,
    /// Escapes that decode to something that is not UTF-8.
    Utf8,
}

impl PatternError {
    pub(super) fn new(text: &str, position: usize, kind: PatternErrorKind) -> Self {
        Self {
            text: text.to_owned(),
            position,
            kind,
        }
    }

    /// The offending text, whole: the prefix or the path, whichever is at fault.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where the fault begins: a byte offset into [`text`](Self::text).
    pub fn position(&self) -> usize {
        self.position
    }

    /// What is wrong.
    pub fn kind(&self) -> &PatternErrorKind {
        &self.kind
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use PatternErrorKind as Kind;

        let at = self.position;
        write!(f, "path `{}` is no pattern: ", excerpt(&self.text))?;
        match &self.kind {
            Kind::EmptySegment => write!(
                f,
                "found an empty segment at byte {at}, expected text between the slashes"
            ),
            Kind::EmptyName => write!(f, "found no name at byte {at}, expected a letter or `_`"),
            Kind::NameCharacter(found) => write!(
                f,
                "found `{}` at byte {at}, expected a name of ASCII letters, digits, `_` and `-` that begins with a \
                 letter or `_`",
                found.escape_debug()
            ),
            Kind::DuplicateName(name) => write!(
                f,
                "found the name `{}` again at byte {at}, expected a name that the pattern does not have yet",
                excerpt(name)
            ),
            Kind::AfterRest(name) => write!(
                f,
                "found `/` at byte {at}, expected the end, since `*{}` captures the rest of the path",
                excerpt(name)
            ),
            Kind::MarkerInLiteral(found) => write!(
                f,
                "found `{found}` at byte {at} within a segment, expected it at the segment's beginning or as `%{:02X}`",
                u32::from(*found)
            ),
            Kind::Character(found) if found.is_ascii() => write!(
                f,
                "found `{}` at byte {at}, expected it as `%{:02X}` or not at all",
                found.escape_debug(),
                u32::from(*found)
            ),
            Kind::Character(found) => {
                write!(
                    f,
                    "found `{}` at byte {at}, expected it percent-encoded or not at all",
                    found.escape_unicode()
                )
            }
            Kind::Escape => write!(f, "found `%` at byte {at}, expected two hexadecimal digits after it"),
            Kind::Utf8 => write!(f, "found escapes in the segment at byte {at} that are not UTF-8"),
        }
    }
}

impl std::error::Error for PatternError {}
