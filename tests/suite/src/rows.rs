//! The rows of the specification, and which of them are proven.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::case::Case;

/// The rows of `rows.toml`, and those of `open-rows.toml`.
#[derive(Debug)]
pub struct Rows {
    all: Vec<String>,
    open: BTreeMap<String, String>,
    elsewhere: BTreeMap<String, PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenRows {
    open: BTreeMap<String, String>,
    elsewhere: BTreeMap<String, PathBuf>,
}

fn folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read<T: serde::de::DeserializeOwned>(file: &str) -> Result<T> {
    let text = std::fs::read_to_string(folder().join(file)).with_context(|| file.to_owned())?;
    toml::from_str(&text).with_context(|| file.to_owned())
}

impl Rows {
    /// Reads both files.
    ///
    /// # Errors
    /// If one of them is not as it should be.
    pub fn load() -> Result<Self> {
        let groups: BTreeMap<String, BTreeMap<String, String>> = read("rows.toml")?;
        let mut all: Vec<_> = groups.into_values().flat_map(BTreeMap::into_keys).collect();
        all.sort_by_key(|row| order(row));
        let OpenRows { open, elsewhere } = read("open-rows.toml")?;
        Ok(Self { all, open, elsewhere })
    }

    /// What is wrong with the rows that the cases name, one sentence each; nothing if each row is proven by a case, proven
    /// elsewhere, or open, and only one of these.
    pub fn complaints(&self, cases: &[Case]) -> Vec<String> {
        let known: BTreeSet<_> = self.all.iter().map(String::as_str).collect();
        let mut proven = BTreeSet::new();
        let mut complaints = Vec::new();
        for case in cases {
            for row in case.rows {
                if known.contains(row) {
                    proven.insert(*row);
                } else {
                    complaints.push(format!(
                        "case `{}` names row {row}, which rows.toml does not have",
                        case.name
                    ));
                }
            }
        }
        for row in self.open.keys().chain(self.elsewhere.keys()) {
            if !known.contains(row.as_str()) {
                complaints.push(format!("open-rows.toml names row {row}, which rows.toml does not have"));
            }
        }
        for row in &self.all {
            let places = [
                proven.contains(row.as_str()),
                self.open.contains_key(row),
                self.elsewhere.contains_key(row),
            ];
            match places {
                [false, false, false] => {
                    complaints.push(format!("row {row} is named by no case, and is not in open-rows.toml"));
                }
                [true, true, _] | [_, true, true] => {
                    complaints.push(format!("row {row} is proven and still listed as open"))
                }
                _ => {}
            }
        }
        for (row, file) in &self.elsewhere {
            if let Err(error) = names(file, row) {
                complaints.push(format!("row {row} is said to be proven elsewhere: {error:#}"));
            }
        }
        complaints
    }

    /// The golden table: a line for each row and adapter with the cases that prove it.
    pub fn table(&self, cases: &[Case], adapters: &[&str]) -> String {
        let mut table = String::new();
        for row in &self.all {
            if let Some(reason) = self.open.get(row) {
                table.push_str(&format!("{row}: open, {reason}\n"));
            }
            if let Some(file) = self.elsewhere.get(row) {
                table.push_str(&format!("{row}: elsewhere, {}\n", file.display()));
            }
            let proofs: Vec<_> = cases.iter().filter(|case| case.rows.contains(&row.as_str())).collect();
            if !proofs.is_empty() {
                for adapter in adapters {
                    let names: Vec<_> = proofs.iter().map(|case| entry(case, adapter)).collect();
                    table.push_str(&format!("{row} {adapter}: {}\n", names.join(", ")));
                }
            }
        }
        table
    }
}

/// A case in the table; one that does not run on the adapter says why.
fn entry(case: &Case, adapter: &str) -> String {
    match case.is_not_for(adapter) {
        Some(why) => format!("{} (not there: {why})", case.name),
        None => case.name.to_owned(),
    }
}

/// Whether a file of the repository names a row as `(spec …)`.
fn names(file: &Path, row: &str) -> Result<()> {
    let text =
        std::fs::read_to_string(folder().join("../..").join(file)).with_context(|| file.display().to_string())?;
    let named = text.split("(spec ").skip(1).filter_map(|rest| rest.split(')').next());
    if named.flat_map(|rows| rows.split([',', ' '])).any(|named| named == row) {
        return Ok(());
    }
    bail!("`{}` does not say `(spec {row})`", file.display())
}

/// The order of the specification: D, P, M, G, H, C, E, A, S, X, and by number within each.
fn order(row: &str) -> (usize, u32) {
    let (letter, number) = row.split_at(row.len().min(1));
    (
        "DPMGHCEASX".find(letter).unwrap_or(usize::MAX),
        number.parse().unwrap_or(u32::MAX),
    )
}
