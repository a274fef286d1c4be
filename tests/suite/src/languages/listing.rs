//! The cases that have a guest in a language: `tests/suite/<language>.txt`, and the page of the docs that is made from it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result, bail, ensure};

use super::{Declared, Language};
use crate::case::Case;
use crate::rows::sections;

/// The case has no guest of a form of the language, and no twin.
const NONE: &str = "- ";

/// Whether each case has a guest in a language.
#[derive(Debug)]
pub struct Listing {
    language: Language,
    cases: BTreeMap<String, bool>,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn list(language: Language) -> String {
    format!("tests/suite/{}.txt", language.folder())
}

fn page(language: Language) -> String {
    format!("docs/{}-cases.md", language.folder())
}

fn read(file: &str) -> Result<String> {
    std::fs::read_to_string(repository().join(file)).with_context(|| file.to_owned())
}

impl Listing {
    /// Reads the list.
    ///
    /// # Errors
    /// If there is none.
    pub fn load(language: Language) -> Result<Self> {
        let text = read(&list(language))?;
        let cases = text.lines().map(|line| match line.strip_prefix(NONE) {
            Some(name) => (name.to_owned(), false),
            None => (line.to_owned(), true),
        });
        let cases = cases.collect();
        Ok(Self { language, cases })
    }

    /// Whether a case has a guest in the language; `None` if it is not in the list.
    pub fn has_guest(&self, case: &str) -> Option<bool> {
        self.cases.get(case).copied()
    }

    /// Writes the list and the page again, with what a run of the case has shown.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn record(language: Language, case: &str, has_guest: bool, cases: &[Case]) -> Result<()> {
        static WRITES: Mutex<()> = Mutex::new(());
        let _writes = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
        let mut listing = Self::load(language).unwrap_or(Self {
            language,
            cases: BTreeMap::new(),
        });
        listing.cases.insert(case.to_owned(), has_guest);
        listing
            .cases
            .retain(|name, _| cases.iter().any(|case| case.name == name));
        let lines = listing.cases.iter().map(|(name, has_guest)| match has_guest {
            true => format!("{name}\n"),
            false => format!("{NONE}{name}\n"),
        });
        std::fs::write(repository().join(list(language)), lines.collect::<String>())?;
        std::fs::write(repository().join(page(language)), listing.page(cases)?)?;
        Ok(())
    }

    /// Checks that every case is in the list, and that the page is the one of the list.
    ///
    /// # Errors
    /// What is not up to date.
    pub fn check(&self, cases: &[Case]) -> Result<()> {
        let (list, page) = (list(self.language), page(self.language));
        for case in cases {
            ensure!(
                self.cases.contains_key(case.name),
                "{list} does not have the case `{}`, expected each; POINTWORK_WRITE_CASES=1 adds those that run",
                case.name
            );
        }
        if let Some(name) = self
            .cases
            .keys()
            .find(|name| cases.iter().all(|case| case.name != **name))
        {
            bail!("{list} has the case `{name}`, which there is not");
        }
        ensure!(
            read(&page)? == self.page(cases)?,
            "{page} is not up to date; write it with POINTWORK_WRITE_CASES=1 and any test of `{}::`",
            self.language.folder()
        );
        Ok(())
    }

    fn page(&self, cases: &[Case]) -> Result<String> {
        let declared = Declared::load(self.language);
        let mut text = self.introduction();
        for (letter, title) in sections()? {
            let of_section = cases.iter().filter(|case| {
                let is_here = case.rows.iter().any(|row| row.starts_with(letter));
                is_here && self.has_guest(case.name) == Some(true)
            });
            let (differ, pass): (Vec<&Case>, Vec<&Case>) =
                of_section.partition(|case| declared.reason(case.name).is_some());
            if differ.len() + pass.len() > 0 {
                writeln!(text, "| {letter} | {title} | {} | {} |", pass.len(), differ.len())?;
            }
        }
        text.push_str("\n## What differs\n");
        for (reason, names) in declared.reasons() {
            writeln!(text, "\n{reason}:\n")?;
            for name in names {
                writeln!(text, "- `{name}`")?;
            }
        }
        Ok(text)
    }

    fn introduction(&self) -> String {
        let (name, folder) = (self.language.name(), self.language.folder());
        let (guest, sdk) = match self.language {
            Language::Rust => ("a guest of its own", "rust"),
            Language::TypeScript => ("a guest of the synchronous form", "js"),
            Language::Python => ("a guest of its own", "python"),
        };
        format!(
            "# The specification in {name}

The behaviour suite proves the rows of [the specification](../tests/spec.md) with guests that it writes as WebAssembly text. The tests
`{folder}::` of its binary `behaviour` run each case that has {guest} with that guest in {name}, built with
[the SDK](../guest/{sdk}/README.md), and the cases of the Rust SDK with the same controllers and channels in {name}.

A case that proves rows of several sections counts in each. A case that differs is one that no module in {name} can pass. It runs all
the same, and has to fail in the way that `tests/suite/{folder}.toml` declares. This page is made from the results.

| section | | pass | differ |
|---|---|---|---|
"
        )
    }
}
