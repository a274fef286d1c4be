//! The staged publish of one change: on the bus, on every adapter and in the state directory, whole or not at all.

use std::sync::Arc;

use pointwork_core::RouteRecord;

use super::App;
use crate::app::changes::{Change, ChangeKind, Diff, Refusal, ServerChanged, ServerRefused, now};
use crate::app::event_names::check_event_names;
use crate::app::module::{Module, ModuleInfo};
use crate::app::state::AppState;
use crate::store::PinnedComponent;
use crate::{Error, ErrorKind, OrError, Version};

/// A change of a module.
pub(super) enum Proposal {
    /// A version of a component becomes current.
    Install {
        module: Arc<Module>,
        bytes: Arc<[u8]>,
        purpose: Purpose,
    },
    /// The previous version becomes current again: as requested, or because the current one failed its trial.
    RollBack {
        module: Arc<Module>,
        failed: Option<FailedTrial>,
    },
    Remove {
        name: String,
    },
}

/// The purpose of an installation. The base is the new one in the state directory; `None` keeps the recorded one.
pub(super) enum Purpose {
    Load {
        base: Option<String>,
    },
    Swap {
        base: Option<String>,
    },
    /// The directory has the version already; what is new in its record may be lost, with a warning.
    Restore {
        base: Option<String>,
    },
    /// The version serves in the place of the recorded one, which is damaged and stays recorded.
    StandIn,
}

/// A version that failed its trial; it is rolled back only if it is still current.
pub(super) struct FailedTrial {
    pub(super) version: Arc<Module>,
    pub(super) reason: String,
}

impl Purpose {
    pub(super) fn kind(&self) -> ChangeKind {
        match self {
            Self::Swap { .. } => ChangeKind::Swapped,
            Self::Load { .. } | Self::Restore { .. } | Self::StandIn => ChangeKind::Loaded,
        }
    }

    pub(super) fn base(&self) -> Option<&String> {
        match self {
            Self::Load { base } | Self::Swap { base } | Self::Restore { base } => base.as_ref(),
            Self::StandIn => None,
        }
    }
}

impl Proposal {
    fn kind(&self) -> ChangeKind {
        match self {
            Self::Install { purpose, .. } => purpose.kind(),
            Self::RollBack { .. } => ChangeKind::RolledBack,
            Self::Remove { .. } => ChangeKind::Removed,
        }
    }

    /// The version that becomes current; `None` removes the module.
    fn module(&self) -> Option<&Arc<Module>> {
        match self {
            Self::Install { module, .. } | Self::RollBack { module, .. } => Some(module),
            Self::Remove { .. } => None,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Install { module, .. } | Self::RollBack { module, .. } => &module.info.name,
            Self::Remove { name } => name,
        }
    }

    fn failed(&self) -> Option<&FailedTrial> {
        match self {
            Self::RollBack { failed, .. } => failed.as_ref(),
            Self::Install { .. } | Self::Remove { .. } => None,
        }
    }

    fn is_stand_in(&self) -> bool {
        matches!(
            self,
            Self::Install {
                purpose: Purpose::StandIn,
                ..
            }
        )
    }

    /// The result of writing to the state directory; `None` if it failed, and that is no reason to refuse the change.
    fn recorded<T>(&self, written: Result<T, Error>) -> Result<Option<T>, Error> {
        match (self, written) {
            (
                Self::Install {
                    purpose: Purpose::Restore { .. },
                    ..
                },
                Err(error),
            ) => {
                let (module, reason) = (self.name(), pointwork_core::error_chain(&error));
                tracing::warn!(
                    module,
                    "the record of the module in the state directory is not brought up to date: {reason}"
                );
                Ok(None)
            }
            (_, written) => written.map(Some),
        }
    }
}

impl Change {
    fn new(
        kind: ChangeKind,
        name: &str,
        before: Option<&Arc<Module>>,
        after: Option<&Arc<Module>>,
        routes: Diff,
    ) -> Self {
        let declared = |module: Option<&Arc<Module>>, list: fn(&ModuleInfo) -> Vec<String>| {
            module.map(|module| list(&module.info)).unwrap_or_default()
        };
        let diff = |list| Diff::between(declared(before, list), declared(after, list));
        Self {
            kind,
            module: name.to_owned(),
            digest: digest_of(after),
            previous: digest_of(before),
            routes,
            channels: diff(|info| info.channels.iter().map(|channel| channel.name.clone()).collect()),
            listeners: diff(ModuleInfo::listeners),
            events_used: diff(|info| info.events_used.clone()),
            warnings: declared(after, |info| info.warnings.clone()),
            reason: None,
            time: now(),
        }
    }
}

impl App {
    pub(super) async fn publish(&self, proposal: Proposal) -> Result<Change, Error> {
        let app = self.clone();
        let publish = move || {
            // Before the lock is taken: writing a component takes time. It stays there until the version is recorded.
            let _pinned = app.pin(&proposal)?;
            app.publish_now(&proposal)
        };
        self.0.threads.blocking(ErrorKind::Engine, publish).await
    }

    /// Writes the component of a version to the state directory; it stays there while the result lives.
    fn pin(&self, proposal: &Proposal) -> Result<Option<PinnedComponent>, Error> {
        match (proposal, self.directory()) {
            (Proposal::Install { module, bytes, .. }, Some(directory)) if !proposal.is_stand_in() => {
                proposal.recorded(directory.pin(&module.info.digest, bytes))
            }
            _ => Ok(None),
        }
    }

    fn publish_now(&self, proposal: &Proposal) -> Result<Change, Error> {
        let (kind, name, module, failed) = (proposal.kind(), proposal.name(), proposal.module(), proposal.failed());
        let mut state = self.open_state()?;
        state.binder.check_name(kind, name)?;
        let current = state.binder.module(name).cloned();
        if let Some(failed) = failed
            && current
                .as_ref()
                .is_none_or(|current| !Arc::ptr_eq(&failed.version, current))
        {
            let message = format!("another version of module `{name}` has become current");
            return Err(Error::new(ErrorKind::Refused, message));
        }
        // Another swap to the same version may have been faster.
        if let (Proposal::Install { module, purpose, .. }, Some(current)) = (proposal, &current)
            && self.is_version(current, &module.info.digest, &module.options)
        {
            return self.keep_now(&mut state, current, purpose.base());
        }

        let mut binder = state.binder.clone();
        let listeners = match module {
            Some(module) => {
                binder.put_module(module.clone());
                if !proposal.is_stand_in() {
                    binder.forget_unrestored(name);
                }
                module.listeners()
            }
            None => {
                binder.remove_module(name);
                Vec::new()
            }
        };
        let listeners = self.bus().stage(Some(name), listeners);
        let listeners = listeners.or_error(ErrorKind::Refused, "its channels are refused")?;
        if let Proposal::Install { module, purpose, .. } = proposal {
            check_event_names(module, purpose, current.as_deref(), &listeners, &binder)?;
        }
        let table = binder.stage(&self.0.routers)?;
        // A version that failed its trial is not rolled back to.
        let previous = current.as_ref().filter(|_| module.is_some() && failed.is_none());
        self.record(proposal, previous)?;
        let routes = Diff::between(of_module(&state.records, name), of_module(&table.records, name));
        let mut change = Change::new(kind, name, current.as_ref(), module, routes);
        change.reason = failed.map(|failed| failed.reason.clone());

        let missing_listeners = state.missing_listeners(self.bus());
        // Listeners first: a new route may call a new event.
        listeners.publish();
        state.binder = binder;
        // Before the first adapter, the module with the listener may be the next to be loaded.
        if kind != ChangeKind::Loaded || state.binder.transports().next().is_some() {
            state.warn_of_missing_listeners(self.bus(), name, &missing_listeners);
        }
        state.records = table.publish();
        state.restore_failures.remove(name);
        let past = state.past.entry(name.to_owned()).or_default();
        past.replaced(change.time, previous, current.as_ref());
        if let (ChangeKind::Swapped, Some(module)) = (kind, module) {
            self.begin_trial(module);
        }
        log(&change, module.map(|module| &**module));
        self.bus().announce::<ServerChanged>(&change);
        if let Some(module) = module {
            module.begin();
        }
        drop(state);
        // After the lock is free: freeing instances takes time.
        if let Some(current) = current {
            current.retire();
        }
        Ok(change)
    }

    /// The outcome of a swap to the version that is current (spec S4). In the state directory only the base may change, or
    /// this version takes the place of one that could not be restored.
    pub(super) async fn keep(&self, current: Arc<Module>, purpose: Purpose) -> Result<Change, Error> {
        let app = self.clone();
        let keep = move || app.keep_now(&mut *app.open_state()?, &current, purpose.base());
        self.0.threads.blocking(ErrorKind::Engine, keep).await
    }

    fn keep_now(&self, state: &mut AppState, current: &Arc<Module>, base: Option<&String>) -> Result<Change, Error> {
        let name = &current.info.name;
        let replaces = state.restore_failures.contains_key(name);
        let before = of_module(&state.records, name);
        if let Some(directory) = self.directory()
            && (replaces || base.is_some())
        {
            let mut accepted = None;
            if replaces {
                let mut binder = state.binder.clone();
                binder.forget_unrestored(name);
                accepted = Some((binder.stage(&self.0.routers)?, binder));
            }
            let mut version = directory.version(name).unwrap_or_default();
            if replaces {
                version = version.with_current(Some(current));
            }
            version.base = base.cloned().or(version.base);
            directory.commit(name, version)?;
            if let Some((table, binder)) = accepted {
                state.restore_failures.remove(name);
                state.binder = binder;
                state.records = table.publish();
            }
        }
        let routes = Diff::between(before, of_module(&state.records, name));
        let change = Change::new(ChangeKind::Unchanged, name, Some(current), Some(current), routes);
        log(&change, Some(current));
        Ok(change)
    }

    fn record(&self, proposal: &Proposal, previous: Option<&Arc<Module>>) -> Result<(), Error> {
        let Some(directory) = self.directory().filter(|_| !proposal.is_stand_in()) else {
            return Ok(());
        };
        let name = proposal.name();
        let mut version = directory.version(name).unwrap_or_default();
        match proposal {
            // The directory alone knows the version before.
            Proposal::Install {
                purpose: Purpose::Restore { .. },
                ..
            } => {}
            _ => version.previous = digest_of(previous),
        }
        if let Proposal::Install { purpose, .. } = proposal {
            version.base = purpose.base().cloned().or(version.base);
        }
        let version = version.with_current(proposal.module());
        proposal.recorded(directory.commit(name, version)).map(drop)
    }

    pub(super) fn report_refusal(&self, kind: ChangeKind, name: &str, digest: Option<String>, error: &Error) {
        let reason = pointwork_core::error_chain(error);
        // The caller of a load gets the error.
        if kind != ChangeKind::Loaded {
            tracing::warn!(module = name, digest, "a change of the module is refused: {reason}");
        }
        let refusal = Refusal {
            module: name.to_owned(),
            digest,
            reason,
            time: now(),
        };
        self.bus().announce::<ServerRefused>(&refusal);
    }
}

impl Version {
    /// The versions once this one is current.
    fn with_current(mut self, module: Option<&Arc<Module>>) -> Self {
        self.current = digest_of(module);
        self.previous = self.previous.filter(|previous| Some(previous) != self.current.as_ref());
        self.routes = module.map(|module| module.kept_routes()).unwrap_or_default();
        self
    }
}

fn digest_of(module: Option<&Arc<Module>>) -> Option<String> {
    module.map(|module| module.info.digest.clone())
}

fn of_module(records: &[Arc<RouteRecord>], module: &str) -> Vec<String> {
    let records = records.iter().filter(|record| record.module.as_deref() == Some(module));
    records.map(ToString::to_string).collect()
}

fn log(change: &Change, module: Option<&Module>) {
    let info = module.map(|module| &module.info);
    tracing::info!(
        module = change.module,
        form = info.map(|info| tracing::field::display(info.form)),
        routes = info.map(|info| info.routes),
        channels = info.map(|info| info.channels.len()),
        bytes = info.map(|info| info.size),
        digest = change.digest,
        previous = change.previous,
        added = change.routes.added.len(),
        removed = change.routes.removed.len(),
        "module {}",
        change.kind
    );
}
