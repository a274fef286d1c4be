//! Reports of changes.

use pointwork::{Change, ChangeKind, Diff, ModuleInfo};
use serde::{Deserialize, Serialize};

/// A published change, as the replies to `PUT`, `DELETE` and the roll-back report it: [`Change`] without time and reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ChangeReport {
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The module.
    pub module: String,
    /// SHA-256 of the current version, in hex; `None` if the module was removed.
    pub digest: Option<String>,
    /// SHA-256 of the previous version, in hex; `None` if the module is new.
    pub previous: Option<String>,
    /// The changes of its routes.
    pub routes: Diff,
    /// The changes of its channels.
    #[serde(default)]
    pub channels: Diff,
    /// The changes of its listeners.
    #[serde(default)]
    pub listeners: Diff,
    /// The changes of the events that it uses.
    #[serde(default)]
    pub events_used: Diff,
    /// The declarations of the module that are probably mistakes.
    #[serde(default)]
    pub warnings: Vec<String>,
}

impl From<Change> for ChangeReport {
    fn from(change: Change) -> Self {
        Self {
            kind: change.kind,
            module: change.module,
            digest: change.digest,
            previous: change.previous,
            routes: change.routes,
            channels: change.channels,
            listeners: change.listeners,
            events_used: change.events_used,
            warnings: Vec::new(),
        }
    }
}

impl ChangeReport {
    /// A new module, with its routes as `METHOD /path`.
    pub(crate) fn loaded(info: ModuleInfo, routes: Vec<String>) -> Self {
        let listeners = info.listeners();
        let channels = info.channels.into_iter().map(|channel| channel.name);
        Self {
            kind: ChangeKind::Loaded,
            module: info.name,
            digest: Some(info.digest),
            previous: None,
            routes: added(routes),
            channels: added(channels.collect()),
            listeners: added(listeners),
            events_used: added(info.events_used),
            warnings: info.warnings,
        }
    }
}

fn added(items: Vec<String>) -> Diff {
    let mut diff = Diff::default();
    diff.added = items;
    diff
}
