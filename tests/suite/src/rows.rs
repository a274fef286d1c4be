//! The rows of the specification, and the tests that prove each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::case::Case;

/// The rows of `tests/spec.md`, the open ones among them, and those that tests outside the binaries `behaviour` and
/// `wire` prove.
#[derive(Debug)]
pub struct Rows {
    all: Vec<String>,
    open: BTreeMap<String, String>,
    elsewhere: BTreeMap<String, Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OpenRows {
    open: BTreeMap<String, String>,
    elsewhere: BTreeMap<String, Vec<String>>,
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(file: &str) -> Result<String> {
    std::fs::read_to_string(tests().join(file)).with_context(|| file.to_owned())
}

impl Rows {
    /// Reads `spec.md` and `suite/open-rows.toml`.
    ///
    /// # Errors
    /// If one of them is malformed.
    pub fn load() -> Result<Self> {
        let spec = read("spec.md")?;
        let words = spec
            .lines()
            .filter_map(|line| line.strip_prefix("- ")?.split(' ').next());
        let all: Vec<_> = words.filter(|word| is_row(word)).map(str::to_owned).collect();
        if all.is_empty() {
            bail!("spec.md has no rows");
        }
        let OpenRows { open, elsewhere } = toml::from_str(&read("suite/open-rows.toml")?).context("open-rows.toml")?;
        Ok(Self { all, open, elsewhere })
    }

    /// In the order of the specification, a line for each row and test: the row, and the name of the test.
    ///
    /// # Errors
    /// Every row that is neither open nor proven, every open row with a test, and every unknown name.
    pub fn table(&self, cases: &[Case]) -> Result<String> {
        let mut proofs: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for case in cases {
            for row in case.rows {
                proofs.entry(row).or_default().push(case.name.to_owned());
            }
        }
        for case in pointwork_wire_tests::all() {
            for row in case.rows {
                proofs.entry(row).or_default().push(format!("wire::{}", case.name));
            }
        }
        let mut complaints = Vec::new();
        for (row, tests) in &self.elsewhere {
            for test in tests {
                if let Err(error) = stands(test) {
                    complaints.push(format!("row {row} is proven elsewhere: {error:#}"));
                }
            }
            proofs.entry(row).or_default().extend(tests.iter().cloned());
        }
        let known: BTreeSet<_> = self.all.iter().map(String::as_str).collect();
        let named = proofs.keys().copied().chain(self.open.keys().map(String::as_str));
        complaints.extend(
            named
                .filter(|row| !known.contains(row))
                .map(|row| format!("row {row} does not stand in spec.md")),
        );
        let mut table = String::new();
        for row in &self.all {
            match (proofs.get(row.as_str()), self.open.get(row)) {
                (Some(names), None) => table.extend(names.iter().map(|name| format!("{row} {name}\n"))),
                (None, Some(_)) => {}
                (None, None) => {
                    complaints.push(format!("no test proves row {row}, and open-rows.toml does not have it"))
                }
                (Some(names), Some(_)) => complaints.push(format!("row {row} is open, and {} proves it", names[0])),
            }
        }
        if complaints.is_empty() {
            return Ok(table);
        }
        bail!("{}", complaints.join("\n"))
    }
}

/// Whether a word is the name of a row: a capital letter and a number.
fn is_row(word: &str) -> bool {
    let mut characters = word.chars();
    characters
        .next()
        .is_some_and(|letter| letter.is_ascii_uppercase() && letter != 'Z')
        && !characters.as_str().is_empty()
        && characters.all(|digit| digit.is_ascii_digit())
}

/// Whether a file of the repository contains a test; its name is `path/of/the/file.rs::function`.
fn stands(test: &str) -> Result<()> {
    let (file, function) = test.rsplit_once("::").context("expected `file::function`")?;
    let text = read(&format!("../{file}"))?;
    if !text.contains(&format!("fn {function}(")) {
        bail!("`{file}` has no function `{function}`");
    }
    Ok(())
}
