//! The differences between the adapters: `tests/differences.toml`, which both test binaries execute.
//!
//! A difference is an expected failure of named cases. Each of them runs; one that passes is an error, and so is one
//! that fails in another way than declared.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::adapters::ADAPTERS;

use pointwork_test_clock::real::in_vain;

/// The hosts in other languages, each with the built-in server and with one of its language.
pub const HOSTS: [&str; 4] = ["c", "microhttpd", "python", "uvicorn"];

/// The contents of `differences.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Differences {
    /// The cases that fail.
    #[serde(default, rename = "difference")]
    pub differences: Vec<Difference>,
    /// The frameworks with a closed list of methods.
    #[serde(default)]
    pub methods: Vec<ClosedList>,
    /// The adapters whose servers have their own request parser.
    #[serde(default, rename = "own_parser")]
    pub own_parsers: Vec<OwnParser>,
}

/// Cases that fail on one adapter, all for one reason and in one way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// The adapter, or a host in another language.
    pub adapter: String,
    /// The names of the cases; those of the test binary `wire` include their file.
    pub cases: Vec<String>,
    /// The reason of the failure.
    pub reason: String,
    /// The text that each failure contains.
    pub instead: String,
    /// The behaviour of the adapter in place of the expected one, in words for users.
    pub behaviour: String,
}

/// A framework's closed list of methods.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedList {
    /// The adapter.
    pub adapter: String,
    /// The reason for the list.
    pub why: String,
    /// The methods in the list.
    pub serves: BTreeSet<String>,
    /// The answer to any other method.
    pub others: Answer,
}

/// An answer in place of the common one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The whole body.
    pub body: String,
    /// Whether the connection closes after it.
    pub closes: bool,
}

/// An adapter whose server has its own request parser. It may refuse an unusual request in its own way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnParser {
    /// The adapter.
    pub adapter: String,
    /// The reason.
    pub why: String,
    /// The bytes of a request that it refuses and the core accepts.
    pub probe: String,
}

impl Differences {
    /// The declared differences.
    ///
    /// # Panics
    /// If the file is malformed: no test would prove anything.
    pub fn declared() -> &'static Self {
        static DECLARED: OnceLock<Differences> = OnceLock::new();
        DECLARED.get_or_init(|| Self::load().unwrap_or_else(|error| panic!("{error:#}")))
    }

    fn load() -> Result<Self> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../differences.toml");
        let text = std::fs::read_to_string(&file).context("tests/differences.toml")?;
        let read: Self = toml::from_str(&text).context("tests/differences.toml")?;
        let adapters = read.differences.iter().map(|difference| &difference.adapter);
        let adapters = adapters.chain(read.methods.iter().map(|list| &list.adapter));
        for adapter in adapters.chain(read.own_parsers.iter().map(|parser| &parser.adapter)) {
            let names: Vec<_> = ADAPTERS.iter().map(|on| on.name).chain(HOSTS).collect();
            ensure!(
                names.contains(&adapter.as_str()),
                "tests/differences.toml names the adapter `{adapter}`, expected one of {}",
                names.join(", ")
            );
        }
        Ok(read)
    }

    /// Runs a case on an adapter, and tells whether it ended as it has to: it passed, or failed as declared.
    ///
    /// # Errors
    /// The difference from the expected end.
    pub fn judge(&self, adapter: &str, case: &str, run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
        let mut differences = self.differences.iter();
        let declared = differences.find(|one| one.adapter == adapter && one.cases.iter().any(|name| name == case));
        let Some(declared) = declared else { return run() };
        match in_vain(run) {
            Ok(()) => Err(format!(
                "it passes, though tests/differences.toml expects it to fail, because {}",
                declared.reason
            )),
            Err(failure) if failure.contains(&declared.instead) => Ok(()),
            Err(failure) => Err(format!(
                "tests/differences.toml expects a failure with `{}`, got: {failure}",
                declared.instead
            )),
        }
    }

    /// Whether every declared case exists, and is declared once for each adapter.
    ///
    /// # Errors
    /// The names that are wrong.
    pub fn check_names(&self, known: &BTreeSet<String>, of_these: impl Fn(&str) -> bool) -> Result<(), String> {
        let mut seen = BTreeSet::new();
        let mut complaints = Vec::new();
        for difference in &self.differences {
            for case in difference.cases.iter().filter(|case| of_these(case)) {
                if !known.contains(case) {
                    complaints.push(format!(
                        "tests/differences.toml names the case `{case}`, which there is not"
                    ));
                }
                if !seen.insert((&difference.adapter, case)) {
                    complaints.push(format!(
                        "tests/differences.toml names `{case}` twice for {}",
                        difference.adapter
                    ));
                }
            }
        }
        match complaints.is_empty() {
            true => Ok(()),
            false => Err(complaints.join("\n")),
        }
    }

    /// The declared answer of an adapter's server to a method that its framework does not know; `None` if the server
    /// serves it.
    pub fn instead(&self, adapter: &str, method: &str) -> Option<&Answer> {
        let list = self.methods.iter().find(|list| list.adapter == adapter)?;
        (!list.serves.contains(method)).then_some(&list.others)
    }

    /// Whether the server of an adapter has its own request parser.
    pub fn has_own_parser(&self, adapter: &str) -> bool {
        self.own_parsers.iter().any(|parser| parser.adapter == adapter)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connection = if self.closes { "closes" } else { "stays" };
        write!(f, "{} {:?}, and the connection {connection}", self.status, self.body)
    }
}
