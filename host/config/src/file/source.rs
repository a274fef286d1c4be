//! Where the settings were written: the places in errors.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text that settings were read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file; the path is empty if there is none.
    File { path: PathBuf, text: String },
    /// A program. It never saw the text, which was made of its JSON: its places are keys.
    Program { name: String, text: String },
}

impl Default for Source {
    fn default() -> Self {
        Self::file(Path::new(""), "")
    }
}

impl Source {
    pub(super) fn file(path: &Path, text: &str) -> Self {
        Self::File {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    pub(super) fn program(name: &str, text: &str) -> Self {
        Self::Program {
            name: name.to_owned(),
            text: text.to_owned(),
        }
    }

    pub(super) fn text(&self) -> &str {
        match self {
            Self::File { text, .. } | Self::Program { text, .. } => text,
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File { path, .. } => path,
            Self::Program { .. } => Path::new(""),
        }
    }

    /// The whole: the file, or the settings by their name.
    pub(super) fn whole(&self) -> String {
        match self {
            Self::File { path, .. } => path.display().to_string(),
            Self::Program { name, .. } => name.clone(),
        }
    }

    /// The place of a part of the text: file, line and column, or the key.
    pub(crate) fn place(&self, span: &Range<usize>) -> String {
        match self {
            Self::File { path, text } => {
                let (line, column) = line_and_column(text, span.start);
                format!("{}:{line}:{column}", path.display())
            }
            Self::Program { name, text } => match key_path(text, span.start) {
                path if path.is_empty() => name.clone(),
                path => format!("`{path}` of {name}"),
            },
        }
    }
}

/// Both numbers count from 1; columns are characters.
fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(offset)];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[start..].chars().count() + 1)
}

/// The keys and indexes that lead from the root to the value or key at `offset`, as in `grant.http[0]`.
fn key_path(text: &str, offset: usize) -> String {
    let Ok(root) = DeTable::parse(text) else {
        return String::new();
    };
    let mut path = String::new();
    // The first key stands around the settings.
    let mut value = root.get_ref().values().next();
    while let Some(at) = value {
        value = match at.get_ref() {
            DeValue::Table(table) => {
                let entry = table
                    .iter()
                    .find(|(key, value)| holds(key, offset) || holds(value, offset));
                entry.map(|(key, value)| {
                    push_key(&mut path, key.get_ref());
                    value
                })
            }
            DeValue::Array(values) => {
                let entry = values.iter().enumerate().find(|(_, value)| holds(value, offset));
                entry.map(|(index, value)| {
                    let _ = write!(path, "[{index}]");
                    value
                })
            }
            _ => None,
        };
    }
    path
}

fn holds<T>(part: &Spanned<T>, offset: usize) -> bool {
    part.span().contains(&offset)
}

/// A key that has other characters than most is quoted.
fn push_key(path: &mut String, key: &str) {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let dot = if path.is_empty() { "" } else { "." };
    let _ = if !key.is_empty() && key.bytes().all(is_plain) {
        write!(path, "{dot}{key}")
    } else {
        write!(path, "{dot}{key:?}")
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_counts_lines_and_characters_from_one() {
        let text = "a = 1\nä = ü\n";
        let source = Source::file(Path::new("a.toml"), text);
        let at = |offset| source.place(&(offset..offset));
        let of = |needle: &str| at(text.find(needle).expect("there"));
        assert_eq!(of("a"), "a.toml:1:1");
        assert_eq!(of("ä"), "a.toml:2:1");
        assert_eq!(of("ü"), "a.toml:2:5");
        assert_eq!(at(1000), "a.toml:3:1");
    }
}
