//! In what the adapters differ: `tests/differences.toml`, which both test binaries execute.
//!
//! A difference is an expected failure of named cases. Each of them runs; one that passes is an error, and so is one that
//! fails in another way than declared.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use crate::adapters::ADAPTERS;

/// All of `differences.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Differences {
    /// The cases that fail.
    #[serde(default, rename = "difference")]
    pub differences: Vec<Difference>,
    /// The frameworks with a closed list of methods.
    #[serde(default)]
    pub methods: Vec<ClosedList>,
    /// The adapters whose servers read requests by themselves.
    #[serde(default, rename = "own_parser")]
    pub own_parsers: Vec<OwnParser>,
}

/// Cases that fail on one adapter, all for one reason and in one way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// The adapter.
    pub adapter: String,
    /// The names of the cases, those of the wire with their file.
    pub cases: Vec<String>,
    /// Why the case fails there.
    pub reason: String,
    /// The text that each failure contains.
    pub instead: String,
    /// What happens there in place of what the cases expect, in words for users.
    pub behaviour: String,
}

/// A framework's closed list of methods.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedList {
    /// The adapter.
    pub adapter: String,
    /// Why it has one.
    pub why: String,
    /// The methods in it.
    pub serves: BTreeSet<String>,
    /// What is answered to any other.
    pub others: Answer,
}

/// What is answered instead of the common answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The whole body.
    pub body: String,
    /// Whether the connection closes behind it.
    pub closes: bool,
}

/// An adapter whose server reads requests by itself. It may refuse one that is not plain in its own way.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnParser {
    /// The adapter.
    pub adapter: String,
    /// Why.
    pub why: String,
    /// The bytes of a request that it refuses and the core would not.
    pub probe: String,
}

impl Differences {
    /// Those of the file.
    ///
    /// # Panics
    /// If the file is not as it should be: no test means anything then.
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
            let names = ADAPTERS.map(|on| on.name);
            ensure!(
                names.contains(&adapter.as_str()),
                "tests/differences.toml names the adapter `{adapter}`, expected one of {}",
                names.join(", ")
            );
        }
        Ok(read)
    }

    /// Whether a case ended as it has to on an adapter: well, or as declared.
    ///
    /// # Errors
    /// What was not as it has to be.
    pub fn judge(&self, adapter: &str, case: &str, outcome: Result<(), String>) -> Result<(), String> {
        let mut differences = self.differences.iter();
        let declared = differences.find(|one| one.adapter == adapter && one.cases.iter().any(|name| name == case));
        match (declared, outcome) {
            (None, outcome) => outcome,
            (Some(declared), Ok(())) => Err(format!(
                "it passes, though tests/differences.toml expects it to fail, because {}",
                declared.reason
            )),
            (Some(declared), Err(failure)) if failure.contains(&declared.instead) => Ok(()),
            (Some(declared), Err(failure)) => Err(format!(
                "tests/differences.toml expects a failure with `{}`, got: {failure}",
                declared.instead
            )),
        }
    }

    /// Whether every declared case of these is there, once for each adapter.
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

    /// What an adapter's server answers by itself to a method that its framework does not know; `None` if it serves it.
    pub fn instead(&self, adapter: &str, method: &str) -> Option<&Answer> {
        let list = self.methods.iter().find(|list| list.adapter == adapter)?;
        (!list.serves.contains(method)).then_some(&list.others)
    }

    /// Whether the server of an adapter reads requests by itself.
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
