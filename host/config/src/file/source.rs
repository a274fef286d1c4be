//! Where the settings were written: the places in errors.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};

/// The origin of settings.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file; the path is empty if there is none.
    File { path: PathBuf, text: String },
    /// A program: its places are the keys of its JSON.
    Program {
        name: String,
        settings: Json,
        entries: Vec<Entry>,
    },
}

/// A value of the settings. Values are numbered in the order in which they are read, from 0 for the root. A span in the tree is
/// a range of numbers: the span of value `n` starts at `2 * n + 1`, that of its key at `2 * n`, since an error in a key differs
/// from an error in its value.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The keys and indexes that lead to the value from the root, as in `grant.http[0]`; empty for the root.
    pub(super) path: String,
    /// The value in JSON, without what a list or an object contains.
    pub(super) written: String,
}

/// Without the text, which may have secrets.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Source").field(&self.whole()).finish()
    }
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

    pub(super) fn program(name: &str, settings: Json) -> Self {
        let mut entries = Vec::new();
        add(&mut entries, String::new(), &settings);
        Self::Program {
            name: name.to_owned(),
            settings,
            entries,
        }
    }

    /// A value as it was written: its first line.
    pub(super) fn written(&self, span: &Range<usize>) -> &str {
        let written = match self {
            Self::File { text, .. } => &text[span.clone()],
            Self::Program { entries, .. } => &entries[span.start / 2].written,
        };
        written.lines().next().unwrap_or_default()
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

    /// The place of a key or a value: file, line and column, or the key.
    pub(crate) fn place(&self, span: &Range<usize>) -> String {
        match self {
            Self::File { path, text } => {
                let (line, column) = line_and_column(text, span.start);
                format!("{}:{line}:{column}", path.display())
            }
            Self::Program { name, entries, .. } => match &*entries[span.start / 2].path {
                "" => name.clone(),
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

/// Adds the value at `path` and the values that it contains.
fn add(entries: &mut Vec<Entry>, path: String, json: &Json) {
    let written = match json {
        Json::Array(_) => "[]".to_owned(),
        Json::Object(_) => "{}".to_owned(),
        value => value.to_string(),
    };
    let parent = path.clone();
    entries.push(Entry { path, written });
    match json {
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                add(entries, format!("{parent}[{index}]"), item);
            }
        }
        Json::Object(object) => present(object).for_each(|(key, value)| add(entries, below(&parent, key), value)),
        _ => {}
    }
}

/// The keys of an object, without those whose value is `null`.
pub(super) fn present(object: &Map<String, Json>) -> impl Iterator<Item = (&String, &Json)> {
    object.iter().filter(|(_, value)| !value.is_null())
}

/// The path of a key. A key that has other characters than most is quoted.
fn below(path: &str, key: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let dot = if path.is_empty() { "" } else { "." };
    if !key.is_empty() && key.bytes().all(is_plain) {
        format!("{path}{dot}{key}")
    } else {
        format!("{path}{dot}{key:?}")
    }
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
