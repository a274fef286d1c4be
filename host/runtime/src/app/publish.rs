//! The staged publish of one change: on the bus, on every adapter and in the state directory, whole or not at all.

use std::sync::Arc;

use pointwork_core::RouteRecord;

use super::App;
use crate::app::changes::{Change, ChangeKind, Diff, Refusal, ServerChanged, ServerRefused, now};
use crate::app::module::{Module, ModuleInfo};
use crate::app::state::AppState;
use crate::store::PinnedComponent;
use crate::{Error, ErrorKind, OrError, Version};

pub(super) struct Proposal {
    pub(super) kind: ChangeKind,
    pub(super) name: String,
    /// The version that becomes current; `None` removes the module.
    pub(super) module: Option<Arc<Module>>,
    /// The new base in the state directory; `None` keeps the recorded one.
    pub(super) base: Option<String>,
    /// The digest of the previous version, if only the state directory knows it.
    pub(super) previous: Option<String>,
    /// The version that must be current for the change to be published.
    pub(super) replaces: Option<Arc<Module>>,
    /// The reason of a change that the application makes by itself: a failed trial.
    pub(super) reason: Option<String>,
    /// Keeps the component in the state directory until the version is recorded there.
    pub(super) pinned: Option<PinnedComponent>,
    pub(super) recording: Recording,
}

/// How a change is recorded in the state directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recording {
    /// A change that cannot be recorded is refused.
    Required,
    /// The directory has the version already; what is new in its record may be lost, with a warning.
    IfPossible,
    /// The version serves in the place of the recorded one, which stays recorded.
    No,
}

impl Proposal {
    pub(super) fn new(kind: ChangeKind, name: &str) -> Self {
        Self {
            kind,
            name: name.to_owned(),
            module: None,
            base: None,
            previous: None,
            replaces: None,
            reason: None,
            pinned: None,
            recording: Recording::Required,
        }
    }

    fn check_current(&self, current: Option<&Arc<Module>>) -> Result<(), Error> {
        match &self.replaces {
            Some(expected) if current.is_none_or(|current| !Arc::ptr_eq(expected, current)) => {
                let message = format!("another version of module `{}` has become current", self.name);
                Err(Error::new(ErrorKind::Refused, message))
            }
            _ => Ok(()),
        }
    }

    /// The result of writing to the state directory; `None` if it failed, and that is no reason to refuse the change.
    pub(super) fn recorded<T>(&self, written: Result<T, Error>) -> Result<Option<T>, Error> {
        match written {
            Err(error) if self.recording == Recording::IfPossible => {
                let (module, reason) = (&self.name, pointwork_core::error_chain(&error));
                tracing::warn!(
                    module,
                    "the record of the module in the state directory is not brought up to date: {reason}"
                );
                Ok(None)
            }
            written => written.map(Some),
        }
    }

    fn change(&self, kind: ChangeKind, current: Option<&Arc<Module>>, routes: Diff) -> Change {
        let declared = |module: Option<&Arc<Module>>, list: fn(&ModuleInfo) -> Vec<String>| {
            module.map(|module| list(&module.info)).unwrap_or_default()
        };
        let diff = |list| Diff::between(declared(current, list), declared(self.module.as_ref(), list));
        Change {
            kind,
            module: self.name.clone(),
            digest: digest_of(self.module.as_ref()),
            previous: digest_of(current),
            routes,
            channels: diff(|info| info.channels.iter().map(|channel| channel.name.clone()).collect()),
            listeners: diff(ModuleInfo::listeners),
            events_used: diff(|info| info.events_used.clone()),
            reason: self.reason.clone(),
            time: now(),
        }
    }
}

impl App {
    pub(super) async fn publish(&self, proposal: Proposal) -> Result<Change, Error> {
        let app = self.clone();
        let publish = move || app.publish_now(&proposal);
        self.0.threads.blocking(ErrorKind::Engine, publish).await
    }

    fn publish_now(&self, proposal: &Proposal) -> Result<Change, Error> {
        let Proposal { kind, name, module, .. } = proposal;
        let mut state = self.open_state()?;
        state.binder.check_name(*kind, name)?;
        let current = state.binder.module(name).cloned();
        proposal.check_current(current.as_ref())?;
        // Another swap to the same version may have been faster.
        if let (ChangeKind::Swapped, Some(module), Some(current)) = (kind, module, &current)
            && self.is_version(current, &module.info.digest, &module.options)
        {
            let current = current.clone();
            return self.keep_now(&mut state, proposal, &current);
        }

        let mut binder = state.binder.clone();
        let listeners = match module {
            Some(module) => {
                binder.put_module(module.clone());
                if proposal.recording != Recording::No {
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
        proposal.check_event_names(&listeners, &binder, current.as_ref())?;
        let table = binder.stage(&self.0.routers)?;
        // A version that failed its trial is not rolled back to.
        let previous = current
            .as_ref()
            .filter(|_| module.is_some() && proposal.reason.is_none());
        self.record(proposal, previous)?;
        let routes = Diff::between(of_module(&state.records, name), of_module(&table.records, name));
        let change = proposal.change(*kind, current.as_ref(), routes);

        let missing_listeners = state.missing_listeners(self.bus());
        // Listeners first: a new route may call a new event.
        listeners.publish();
        state.binder = binder;
        // Before the first adapter, the module with the listener may be the next to be loaded.
        if *kind != ChangeKind::Loaded || state.binder.transports().next().is_some() {
            state.warn_of_missing_listeners(self.bus(), name, &missing_listeners);
        }
        state.records = table.publish();
        state.restore_failures.remove(name);
        let past = state.past.entry(name.clone()).or_default();
        past.replaced(change.time, previous, current.as_ref());
        if let (ChangeKind::Swapped, Some(module)) = (kind, module) {
            self.begin_trial(module);
        }
        log(&change, module.as_deref());
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
    pub(super) async fn keep(&self, proposal: Proposal, current: Arc<Module>) -> Result<Change, Error> {
        let app = self.clone();
        let keep = move || {
            let mut state = app.open_state()?;
            app.keep_now(&mut state, &proposal, &current)
        };
        self.0.threads.blocking(ErrorKind::Engine, keep).await
    }

    fn keep_now(&self, state: &mut AppState, proposal: &Proposal, current: &Arc<Module>) -> Result<Change, Error> {
        let name = &proposal.name;
        let replaces = state.restore_failures.contains_key(name);
        let before = of_module(&state.records, name);
        if let Some(directory) = self.directory()
            && (replaces || proposal.base.is_some())
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
            version.base = proposal.base.clone().or(version.base);
            directory.commit(name, version)?;
            if let Some((table, binder)) = accepted {
                state.restore_failures.remove(name);
                state.binder = binder;
                state.records = table.publish();
            }
        }
        let routes = Diff::between(before, of_module(&state.records, name));
        let change = proposal.change(ChangeKind::Unchanged, Some(current), routes);
        log(&change, Some(current));
        Ok(change)
    }

    fn record(&self, proposal: &Proposal, previous: Option<&Arc<Module>>) -> Result<(), Error> {
        let Some(directory) = self.directory().filter(|_| proposal.recording != Recording::No) else {
            return Ok(());
        };
        let mut version = directory.version(&proposal.name).unwrap_or_default();
        version.previous = digest_of(previous).or_else(|| proposal.previous.clone());
        version.base = proposal.base.clone().or(version.base);
        let version = version.with_current(proposal.module.as_ref());
        proposal.recorded(directory.commit(&proposal.name, version)).map(drop)
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
