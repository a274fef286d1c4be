//! Errors of the pattern grammar.

use std::fmt;

use crate::text::excerpt;

/// A path does not follow the grammar of [`Pattern`](crate::Pattern).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    text: String,
    position: usize,
    kind: PatternErrorKind,
}

/// How a path violates the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PatternErrorKind {
    /// Two slashes with nothing between them.
    EmptySegment,
    /// `:` or `*` without a name after it.
    EmptyName,
    /// A character that is not allowed there in a parameter's name.
    NameCharacter(char),
    /// A parameter's name that occurs twice.
    DuplicateName(String),
    /// A segment after `*name`; the field is the name.
    AfterRest(String),
    /// `:` or `*` within a literal.
    MarkerInLiteral(char),
    /// A character that must be percent-encoded in a path: `?`, `#`, white space or an unprintable character.
    Character(char),
    /// A `%` without two hexadecimal digits after it.
    Escape,
    /// Escapes that do not decode to UTF-8.
    Utf8,
}

impl PatternError {
    pub(crate) fn new(text: &str, position: usize, kind: PatternErrorKind) -> Self {
        Self {
            text: text.to_owned(),
            position,
            kind,
        }
    }

    /// The whole text at fault: the prefix or the path.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The position of the error: a byte offset into [`text`](Self::text).
    pub fn position(&self) -> usize {
        self.position
    }

    /// The kind of error.
    pub fn kind(&self) -> &PatternErrorKind {
        &self.kind
    }
}

impl std::error::Error for PatternError {}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use PatternErrorKind as Kind;

        let at = self.position;
        write!(f, "path `{}` is not a valid pattern: ", excerpt(&self.text))?;
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
                "found the name `{}` again at byte {at}, expected each name once",
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
