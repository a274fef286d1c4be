//! The cases that no module in a language can pass: `tests/suite/<language>.toml`.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Result, ensure};
use pointwork_test_clock::real::in_vain;
use serde::Deserialize;

use super::Language;
use crate::case::Case;

/// The contents of `<language>.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declared {
    #[serde(default, rename = "difference")]
    differences: Vec<Difference>,
    #[serde(skip)]
    file: String,
}

/// Cases that fail for one reason and in one way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    cases: Vec<String>,
    /// The reason, in words for users.
    reason: String,
    /// The text that each failure contains.
    instead: String,
}

impl Declared {
    /// The declared differences of a language.
    ///
    /// # Panics
    /// If the file is malformed: no test would prove anything.
    pub fn load(language: Language) -> &'static Self {
        static TYPESCRIPT: OnceLock<Declared> = OnceLock::new();
        static PYTHON: OnceLock<Declared> = OnceLock::new();
        static RUST: OnceLock<Declared> = OnceLock::new();
        let declared = match language {
            Language::Rust => &RUST,
            Language::TypeScript => &TYPESCRIPT,
            Language::Python => &PYTHON,
        };
        declared.get_or_init(|| {
            let file = format!("{}.toml", language.folder());
            let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file)).unwrap_or_default();
            let read = toml::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
            Self { file, ..read }
        })
    }

    fn of(&self, case: &str) -> Option<&Difference> {
        self.differences
            .iter()
            .find(|one| one.cases.iter().any(|name| name == case))
    }

    /// Runs a case, and tells whether it ended as it has to: it passed, or failed as declared.
    ///
    /// # Errors
    /// The difference from the expected end.
    pub fn judge(&self, case: &str, run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let Some(declared) = self.of(case) else { return run() };
        match in_vain(run) {
            Ok(()) => Err(format!(
                "it passes, though {} expects it to fail, because {}",
                self.file, declared.reason
            )),
            Err(failure) if failure.contains(&declared.instead) => Ok(()),
            Err(failure) => Err(format!(
                "{} expects a failure with `{}`, got: {failure}",
                self.file, declared.instead
            )),
        }
    }

    /// Checks that every declared case exists and is declared once.
    ///
    /// # Errors
    /// The name that is wrong.
    pub fn check(&self, cases: &[Case]) -> Result<()> {
        let mut seen = BTreeSet::new();
        for name in self.differences.iter().flat_map(|difference| &difference.cases) {
            let known = cases.iter().any(|case| case.name == name);
            ensure!(known, "{} names the case `{name}`, which there is not", self.file);
            ensure!(seen.insert(name), "{} names the case `{name}` twice", self.file);
        }
        Ok(())
    }
}
