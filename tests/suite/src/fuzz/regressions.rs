use std::path::Path;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::{Line, Request};

/// A table and a request whose answers once differed.
#[derive(Clone, Debug)]
pub struct Regression {
    /// The difference, in words.
    pub why: String,
    /// The table.
    pub table: Vec<Line>,
    /// The request.
    pub request: Request,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    once: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    why: String,
    table: Vec<String>,
    request: String,
}

/// The entries of `regressions.toml`.
///
/// # Errors
/// If the file is malformed.
pub fn regressions() -> Result<Vec<Regression>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions.toml");
    let text = std::fs::read_to_string(file).context("regressions.toml")?;
    let read: File = toml::from_str(&text).context("regressions.toml")?;
    let entries = read.once.into_iter().map(|entry| {
        let table = entry.table.iter().map(|line| Line::parse(line));
        Ok(Regression {
            table: table.collect::<Result<_>>()?,
            request: Request::from_escaped(&entry.request).with_context(|| entry.request.clone())?,
            why: entry.why,
        })
    });
    entries.collect::<Result<_>>().context("regressions.toml")
}
