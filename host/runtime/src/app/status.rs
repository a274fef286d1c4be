//! The status of modules.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::App;
use crate::app::module::Module;
use crate::app::state::AppState;
use crate::{HeldBack, ModuleInfo, ModuleState, StateDirectory, Usage};

/// The status of a module. As JSON it is one object, with the fields of [`ModuleInfo`] among its own, in kebab case; the
/// capabilities are `asks`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct ModuleStatus {
    /// The current version.
    #[serde(flatten)]
    pub info: ModuleInfo,
    /// Whether it serves.
    pub state: ModuleState,
    /// When it became current, in milliseconds since 1970-01-01 UTC.
    pub since: u64,
    /// SHA-256 of the version that [`App::roll_back`](crate::App::roll_back) would make current, in hex.
    pub previous: Option<String>,
    /// Its handlers and listeners whose circuit breakers are not closed.
    pub held_back: Vec<HeldBack>,
    /// Its calls and instances.
    pub usage: Usage,
    /// Earlier versions with calls in flight.
    pub draining: Vec<Draining>,
}

/// An earlier version of a module, with calls in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Draining {
    /// SHA-256 of its bytes, in hex.
    pub digest: String,
    /// Its calls in flight.
    pub in_flight: usize,
    /// When they are ended, in milliseconds since 1970-01-01 UTC.
    pub until: u64,
}

/// A recorded version of a module that could not be restored: its component is damaged, missing or refused. The entry is
/// gone once a version of the module is swapped in, loaded or rolled back to, or the module is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct RestoreFailure {
    /// The module.
    pub module: String,
    /// SHA-256 of the recorded version, in hex.
    pub digest: String,
    /// The error with its causes, in one line.
    pub reason: String,
    /// SHA-256 of the version that serves in its place, in hex. `None`: the routes of the module answer 503.
    pub serves: Option<String>,
}

impl App {
    /// The modules whose recorded version could not be restored from the state directory, by name. While there is one, the
    /// application does not serve what it is meant to.
    pub fn restore_failures(&self) -> Vec<RestoreFailure> {
        self.state().restore_failures.values().cloned().collect()
    }
}

impl AppState {
    pub(super) fn status(&self, module: &Arc<Module>, directory: Option<&StateDirectory>) -> ModuleStatus {
        let info = module.info.clone();
        let past = self.past.get(&info.name);
        let previous = past.and_then(|past| past.previous.as_ref());
        let previous = previous.map(|previous| previous.info.digest.clone());
        let draining = past.into_iter().flat_map(|past| &past.draining);
        ModuleStatus {
            state: module.admission().state(),
            since: past.map_or(0, |past| past.since),
            previous: previous.or_else(|| directory?.versions(&info.name)?.previous),
            held_back: module.held_back(),
            usage: module.usage(),
            draining: draining
                .map(|version| version.status())
                .filter(|draining| draining.in_flight > 0)
                .collect(),
            info,
        }
    }
}
