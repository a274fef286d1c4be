//! The staged publish of one change: on the bus, on every adapter and in the state directory, whole or not at all.

use std::sync::Arc;

use bytes::Bytes;
use pointwork_core::RouteRecord;

use super::App;
use crate::app::changes::{Change, ChangeKind, Diff, Refusal, ServerChanged, ServerRefused, now};
use crate::app::event_names::check_event_names;
use crate::app::module::{Module, ModuleInfo};
use crate::app::state::AppState;
use crate::store::PinnedComponent;
use crate::{Error, ErrorKind, OrError, RecordedVersions};

/// A change of a module.
pub(super) enum Proposal {
    /// A version of a component becomes current.
    Install {
        module: Arc<Module>,
        bytes: Bytes,
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

    /// Whether the directory knows the version already, so that a failure to write to it is no reason to refuse the change.
    fn is_restore(&self) -> bool {
        matches!(self, Self::Restore { .. })
    }

    fn is_stand_in(&self) -> bool {
        matches!(self, Self::StandIn)
    }
}

impl Proposal {
    fn name(&self) -> &String {
        match self {
            Self::Install { module, .. } | Self::RollBack { module, .. } => &module.info.name,
            Self::Remove { name } => name,
        }
    }
}

impl FailedTrial {
    fn check_current(&self, current: Option<&Arc<Module>>) -> Result<(), Error> {
        if current.is_some_and(|current| Arc::ptr_eq(&self.version, current)) {
            return Ok(());
        }
        let message = format!(
            "another version of module `{}` has become current",
            self.version.info.name
        );
        Err(Error::new(ErrorKind::Refused, message))
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
            (Proposal::Install { module, bytes, purpose }, Some(directory)) if !purpose.is_stand_in() => {
                let info = &module.info;
                recorded(directory.pin(&info.digest, bytes), &info.name, purpose.is_restore())
            }
            _ => Ok(None),
        }
    }

    fn publish_now(&self, proposal: &Proposal) -> Result<Change, Error> {
        let (kind, module, purpose, failed) = match proposal {
            Proposal::Install { module, purpose, .. } => (purpose.kind(), Some(module), Some(purpose), None),
            Proposal::RollBack { module, failed } => (ChangeKind::RolledBack, Some(module), None, failed.as_ref()),
            Proposal::Remove { .. } => (ChangeKind::Removed, None, None, None),
        };
        let name = proposal.name();
        let is_stand_in = purpose.is_some_and(Purpose::is_stand_in);
        let mut state = self.open_state()?;
        state.binder.check_name(kind, name)?;
        let current = state.binder.module(name).cloned();
        if let Some(failed) = failed {
            failed.check_current(current.as_ref())?;
        }
        // Another swap to the same version may have been faster.
        if let (Some(purpose), Some(module), Some(current)) = (purpose, module, &current)
            && self.is_version(current, &module.info.digest, &module.options)
        {
            return self.keep_now(&mut state, current, purpose.base());
        }

        let mut binder = state.binder.clone();
        let listeners = match module {
            Some(module) => {
                binder.put_module(module.clone());
                if !is_stand_in {
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
        if let (Some(purpose), Some(module)) = (purpose, module) {
            check_event_names(module, purpose, current.as_deref(), &listeners, &binder)?;
        }
        let table = binder.stage(&self.0.routers)?;
        // A version that failed its trial is not rolled back to.
        let previous = current.as_ref().filter(|_| module.is_some() && failed.is_none());
        let is_restore = purpose.is_some_and(Purpose::is_restore);
        let recorded = self.directory().filter(|_| is_restore);
        let recorded = recorded.and_then(|directory| directory.versions(name));
        if let (Some(_), Some(module)) = (purpose, module) {
            module.begin_counts(recorded.as_ref());
        }
        if !is_stand_in {
            self.record(name, module, purpose, previous)?;
        }
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
        let past = state.past.entry(name.clone()).or_default();
        past.replaced(change.time, previous, current.as_ref());
        match (module, &current) {
            (Some(module), Some(current)) if kind == ChangeKind::Swapped => module.begin_trial(current),
            (Some(module), _) => module.resume_trial(recorded),
            (None, _) => {}
        }
        log(&change, module);
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
            let mut versions = directory.versions(name).unwrap_or_default();
            if replaces {
                versions.calls = current.call_counts();
                versions.trial = None;
                versions = versions.with_current(Some(current));
            }
            versions.base = base.cloned().or(versions.base);
            directory.commit(name, versions)?;
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

    fn record(
        &self,
        name: &str,
        module: Option<&Arc<Module>>,
        purpose: Option<&Purpose>,
        previous: Option<&Arc<Module>>,
    ) -> Result<(), Error> {
        let Some(directory) = self.directory() else {
            return Ok(());
        };
        let mut versions = directory.versions(name).unwrap_or_default();
        let is_restore = purpose.is_some_and(Purpose::is_restore);
        let is_swap = purpose.is_some_and(|purpose| purpose.kind() == ChangeKind::Swapped);
        versions.base = purpose.and_then(Purpose::base).cloned().or(versions.base);
        // After a restart the directory alone knows the previous version and the calls.
        if !is_restore {
            versions.previous = digest_of(previous);
            versions.previous_calls = previous.map(|previous| previous.call_counts()).unwrap_or_default();
            versions.calls = module.map(|module| module.call_counts()).unwrap_or_default();
            versions.trial = is_swap.then_some(0);
        }
        let versions = versions.with_current(module);
        recorded(directory.commit(name, versions), name, is_restore).map(drop)
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

impl RecordedVersions {
    /// The versions once this one is current.
    fn with_current(mut self, module: Option<&Arc<Module>>) -> Self {
        self.current = digest_of(module);
        self.previous = self.previous.filter(|previous| Some(previous) != self.current.as_ref());
        self.routes = module.map(|module| module.kept_routes()).unwrap_or_default();
        self
    }
}

/// The result of writing to the state directory; `None` if it failed, and that is no reason to refuse the change.
fn recorded<T>(written: Result<T, Error>, module: &str, may_fail: bool) -> Result<Option<T>, Error> {
    match written {
        Err(error) if may_fail => {
            let reason = pointwork_core::error_chain(&error);
            tracing::warn!(
                module,
                "the record of the module in the state directory is not brought up to date: {reason}"
            );
            Ok(None)
        }
        written => written.map(Some),
    }
}

fn digest_of(module: Option<&Arc<Module>>) -> Option<String> {
    module.map(|module| module.info.digest.clone())
}

fn of_module(records: &[Arc<RouteRecord>], module: &str) -> Vec<String> {
    let records = records.iter().filter(|record| record.module.as_deref() == Some(module));
    records.map(ToString::to_string).collect()
}

fn log(change: &Change, module: Option<&Arc<Module>>) {
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
