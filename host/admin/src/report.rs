//! Reports of modules and of their changes.

use pointwork::{Change, ChangeKind, Diff, Draining, ModuleInfo, ModuleState, ModuleStatus, Usage};
use serde::{Deserialize, Serialize};

/// A module, as `GET /modules` reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ModuleReport {
    /// Its name.
    pub name: String,
    /// SHA-256 of the current version, in hex.
    pub digest: String,
    /// The version of the contract that it was built against.
    pub version: String,
    /// `synchronous` or `asynchronous`.
    pub form: String,
    /// The size of the component, in bytes.
    pub size: usize,
    /// Its state.
    pub state: ModuleState,
    /// When it became current, in milliseconds since 1970-01-01 UTC.
    pub since: u64,
    /// SHA-256 of the version that a roll-back restores, in hex.
    pub previous: Option<String>,
    /// The number of routes that it declares.
    pub routes: usize,
    /// Its channels.
    pub channels: Vec<ChannelReport>,
    /// The events that it may call, emit or hand over to.
    pub events_used: Vec<String>,
    /// Its imports beyond the contract.
    pub asks: Vec<String>,
    /// Its grants, without values of the environment.
    pub granted: Vec<String>,
    /// Its declarations that are probably mistakes.
    pub warnings: Vec<String>,
    /// The counters of its calls and instances.
    pub usage: Usage,
    /// Previous versions that have calls in flight.
    pub draining: Vec<Draining>,
}

/// A channel of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChannelReport {
    /// Its name.
    pub name: String,
    /// The names of its events.
    pub events: Vec<String>,
}

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

impl From<ModuleStatus> for ModuleReport {
    fn from(status: ModuleStatus) -> Self {
        let info = status.info;
        let channels = info.channels.into_iter().map(|channel| ChannelReport {
            name: channel.name,
            events: channel.events,
        });
        Self {
            name: info.name,
            digest: info.digest,
            version: info.version,
            form: info.form.to_string(),
            size: info.size,
            state: status.state,
            since: status.since,
            previous: status.previous,
            routes: info.routes,
            channels: channels.collect(),
            events_used: info.events_used,
            asks: info.capabilities.iter().map(ToString::to_string).collect(),
            granted: info.granted,
            warnings: info.warnings,
            usage: status.usage,
            draining: status.draining,
        }
    }
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
