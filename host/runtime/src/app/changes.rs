//! The events `server:changed` and `server:refused`: a change of a module was published or refused.

use std::time::{SystemTime, UNIX_EPOCH};

use pointwork_events::events;
use serde::{Deserialize, Serialize};

/// The kind of a change of a module.
///
/// The list is open: kinds that this version does not know are read as [`ChangeKind::Other`].
#[derive(Clone, Copy, Debug, derive_more::Display, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[display(rename_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ChangeKind {
    /// The module is new.
    Loaded,
    /// Another version replaced the current one.
    Swapped,
    /// A swap to the version that serves already, with the same options: nothing changed, and no event is emitted (spec S4).
    Unchanged,
    /// The module was removed.
    Removed,
    /// The previous version is current again.
    RolledBack,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

/// A change of a module that was published: the payload of `server:changed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Change {
    /// The kind.
    pub kind: ChangeKind,
    /// The module.
    pub module: String,
    /// SHA-256 of the version that is current now, in hex; `None` if the module was removed.
    pub digest: Option<String>,
    /// SHA-256 of the version that was current before, in hex; `None` if the module is new.
    pub previous: Option<String>,
    /// The changes of its routes; each is a method and a full pattern.
    pub routes: Diff,
    /// The changes of its channels.
    #[serde(default)]
    pub channels: Diff,
    /// The changes of its listeners; each is a channel and an event, such as `db:product:all`.
    #[serde(default)]
    pub listeners: Diff,
    /// The changes of the events that it may call, emit or hand over to.
    #[serde(default)]
    pub events_used: Diff,
    /// The declarations of the current version that are probably mistakes: [`ModuleInfo::warnings`](crate::ModuleInfo::warnings).
    #[serde(default)]
    pub warnings: Vec<String>,
    /// The reason of a change that nobody requested: a version failed its canary trial.
    #[serde(default)]
    pub reason: Option<String>,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub time: u64,
}

/// The difference between two versions in one kind of declarations, each in the order declared (spec S5).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Diff {
    /// Those that are new.
    pub added: Vec<String>,
    /// Those that were removed.
    pub removed: Vec<String>,
    /// Those that both versions have.
    pub kept: Vec<String>,
}

impl Diff {
    pub(crate) fn between(mut removed: Vec<String>, after: Vec<String>) -> Self {
        let (mut added, mut kept) = (Vec::new(), Vec::new());
        for item in after {
            match removed.iter().position(|known| *known == item) {
                Some(known) => {
                    removed.remove(known);
                    kept.push(item);
                }
                None => added.push(item),
            }
        }
        Self { added, removed, kept }
    }
}

/// A change of a module that was refused: the payload of `server:refused`. The current version keeps serving (spec S2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Refusal {
    /// The module.
    pub module: String,
    /// SHA-256 of the component that was refused, in hex; `None` for a roll-back.
    pub digest: Option<String>,
    /// The error with its causes, in one line.
    pub reason: String,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub time: u64,
}

events! {
    /// The event `server:changed`: a change of a module was published.
    pub ServerChanged = "server:changed": Change;
    /// The event `server:refused`: a change of a module was refused.
    pub ServerRefused = "server:refused": Refusal;
}

/// The current time in milliseconds since 1970-01-01 UTC.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
