//! The file that assigns tests to lanes.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

/// The cases of the lane `clock`, at most.
const MOST_CLOCK_CASES: usize = 40;

/// A group of tests that run under the same conditions.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Lane {
    /// One test at a time, beside the lane `cpu`.
    Build,
    /// One test per core.
    Cpu,
    /// One test at a time, last.
    Clock,
}

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Build => "build",
            Self::Cpu => "cpu",
            Self::Clock => "clock",
        })
    }
}

/// `lanes.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lanes {
    /// The binaries whose `cpu` tests share one process.
    shared: BTreeSet<String>,
    /// Patterns of the tests that start first within their lane.
    first: Vec<String>,
    #[serde(rename = "lane")]
    entries: Vec<Entry>,
}

/// Tests that share a lane and a reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    lane: Lane,
    /// Why the tests cannot run in the lane `cpu`.
    reason: String,
    /// `<binary> <test>`; a `*` matches any text. `*::case` is a case in every binary.
    tests: Vec<String>,
}

impl Lanes {
    /// Reads `lanes.toml`.
    ///
    /// # Errors
    /// If the file cannot be read or has another form.
    pub fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        Self::parse(&text).with_context(|| file.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let lanes: Self = toml::from_str(text)?;
        for entry in &lanes.entries {
            ensure!(
                entry.reason.len() > 10,
                "the entry of `{}` has no reason, expected a sentence",
                entry.tests.join("`, `")
            );
        }
        Ok(lanes)
    }

    /// Whether the `cpu` tests of a binary share one process.
    pub(crate) fn is_shared(&self, binary: &str) -> bool {
        self.shared.contains(binary)
    }

    /// Whether a test starts first within its lane.
    pub(crate) fn is_first(&self, binary: &str, test: &str) -> bool {
        let name = format!("{binary} {test}");
        self.first.iter().any(|pattern| pattern_matches(pattern, &name))
    }

    /// The lane of a test. An exact name precedes a pattern.
    pub(crate) fn of(&self, binary: &str, test: &str) -> Lane {
        let name = format!("{binary} {test}");
        let entry = |is_wanted: &dyn Fn(&str) -> bool| {
            self.entries
                .iter()
                .find(|entry| entry.tests.iter().any(|pattern| is_wanted(pattern)))
        };
        let exact = entry(&|pattern| pattern == name);
        let entry = exact.or_else(|| entry(&|pattern| pattern_matches(pattern, &name)));
        entry.map_or(Lane::Cpu, |entry| entry.lane)
    }

    /// Checks the file against the tests that exist.
    ///
    /// # Errors
    /// If an entry matches no test, or if too many cases are in the lane `clock`.
    pub(crate) fn check(&self, tests: &[(&str, &str)]) -> Result<()> {
        let names: Vec<_> = tests.iter().map(|(binary, test)| format!("{binary} {test}")).collect();
        let binaries: BTreeSet<_> = tests.iter().map(|(binary, _)| *binary).collect();
        let patterns = self.entries.iter().flat_map(|entry| &entry.tests).chain(&self.first);
        let stale: Vec<_> = patterns
            .filter(|pattern| !names.iter().any(|name| pattern_matches(pattern, name)))
            .chain(self.shared.iter().filter(|id| !binaries.contains(id.as_str())))
            .map(String::as_str)
            .collect();
        ensure!(
            stale.is_empty(),
            "lanes.toml names tests that do not exist: `{}`",
            stale.join("`, `")
        );
        let clock = tests
            .iter()
            .filter(|(binary, test)| self.of(binary, test) == Lane::Clock)
            // The full matrix has a case several times.
            .map(|(_, test)| test.rsplit_once("::").map_or(*test, |(_, case)| case))
            .collect::<BTreeSet<_>>()
            .len();
        ensure!(
            clock <= MOST_CLOCK_CASES,
            "{clock} cases are in the lane `clock`, expected at most {MOST_CLOCK_CASES}: let a case advance a clock instead of waiting"
        );
        Ok(())
    }
}

/// Whether a pattern matches a name: a `*` in it matches any text.
pub fn pattern_matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        Some((start, end)) => name.len() >= pattern.len() - 1 && name.starts_with(start) && name.ends_with(end),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        shared = ["suite/behaviour"]
        first = []

        [[lane]]
        lane = "build"
        reason = "They run cargo."
        tests = ["cli/cli new::*"]

        [[lane]]
        lane = "clock"
        reason = "It measures the real time of a timeout."
        tests = ["*::times_out", "cli/cli new::waits"]
    "#;

    #[test]
    fn an_exact_name_precedes_a_pattern() {
        let lanes = Lanes::parse(FILE).unwrap();
        assert_eq!(lanes.of("cli/cli", "new::makes"), Lane::Build);
        assert_eq!(lanes.of("cli/cli", "new::waits"), Lane::Clock);
        assert_eq!(lanes.of("cli/cli", "old::makes"), Lane::Cpu);
        assert_eq!(lanes.of("hosts/hosts", "c::times_out"), Lane::Clock);
        assert_eq!(lanes.of("hosts/hosts", "c::times_out_twice"), Lane::Cpu);
    }

    #[test]
    fn an_entry_without_a_test_is_an_error() {
        let lanes = Lanes::parse(FILE).unwrap();
        let error = lanes.check(&[("suite/behaviour", "hyper::times_out"), ("cli/cli", "new::makes")]);
        assert_eq!(
            error.unwrap_err().to_string(),
            "lanes.toml names tests that do not exist: `cli/cli new::waits`"
        );
    }

    #[test]
    fn an_entry_without_a_reason_is_an_error() {
        let error = Lanes::parse(&FILE.replace("They run cargo.", "")).unwrap_err();
        assert!(error.to_string().contains("`cli/cli new::*` has no reason"), "{error}");
    }
}
