//! The rules of the repository, as ordinary tests: see `tests/`. This library holds the parts that they share.

pub mod structure;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The root of the repository.
///
/// # Panics
/// If this crate is not two folders below it.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("the crate lies two folders below the root")
}

/// A text file of the repository.
#[derive(Debug)]
pub struct Text {
    /// Its path from the root, with `/` between the parts.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// Every text file of the repository that git would keep, sorted by path.
///
/// # Errors
/// If a file cannot be read.
pub fn texts() -> Result<Vec<Text>> {
    let mut texts = Vec::new();
    let walk = ignore::WalkBuilder::new(root())
        .hidden(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build();
    for entry in walk {
        let entry = entry?;
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        // A file that is not UTF-8 is not a text.
        if let Ok(text) = String::from_utf8(std::fs::read(entry.path())?) {
            texts.push(Text {
                path: from_root(entry.path())?,
                text,
            });
        }
    }
    texts.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(texts)
}

/// The texts whose path has that end.
///
/// # Errors
/// As [`texts`], and if there is none: a rule that reads no file would always hold.
pub fn texts_ending(end: &str) -> Result<Vec<Text>> {
    let texts: Vec<_> = texts()?.into_iter().filter(|text| text.path.ends_with(end)).collect();
    anyhow::ensure!(!texts.is_empty(), "no file ends with `{end}`");
    Ok(texts)
}

fn from_root(path: &Path) -> Result<String> {
    let relative: PathBuf = path
        .strip_prefix(root())
        .context("a file outside the repository")?
        .to_owned();
    let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
    Ok(parts.join("/"))
}

/// The lines of all texts that break a rule, as `path:line: text`.
pub fn offenders(texts: &[Text], wrong: impl Fn(&str) -> bool) -> Vec<String> {
    let lines = texts.iter().flat_map(|text| {
        (1..)
            .zip(text.text.lines())
            .map(move |(number, line)| (text, number, line))
    });
    lines
        .filter(|(_, _, line)| wrong(line))
        .map(|(text, number, line): (_, u32, _)| format!("{}:{number}: {}", text.path, line.trim()))
        .collect()
}
