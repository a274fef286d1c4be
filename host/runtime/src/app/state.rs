//! The state of an application, and changes of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use pointwork_core::adapter::AdapterState;
use pointwork_core::{Bus, Executor, Failure, RequestDurations, RequestMemory, RouteRecord, ServerOptions};
use tokio::sync::watch;

use super::App;
use crate::app::binder::{Binder, RouterFactory};
use crate::app::call_recorder::CallRecorder;
use crate::app::drain::PastVersions;
use crate::app::options::AppOptions;
use crate::app::status::RestoreFailure;
use crate::component::compiler::Compiler;
use crate::component::engine::Engines;
use crate::scheduling::threads::Threads;
use crate::{Error, StateDirectory};

pub(super) struct AppInner {
    pub(super) engines: Arc<Engines>,
    pub(super) threads: Arc<Threads>,
    pub(super) routers: RouterFactory,
    /// `None` once the application is closed, so that another one can open the directory.
    pub(super) directory: Mutex<Option<StateDirectory>>,
    pub(super) drain: Duration,
    /// Whether [`App::close`] has come to its end.
    pub(super) closed: watch::Sender<bool>,
    /// The thread that closes it.
    pub(super) ending: Mutex<Option<JoinHandle<()>>>,
    pub(super) call_recorder: Arc<CallRecorder>,
    state: Mutex<AppState>,
}

#[derive(Default)]
pub(super) struct AppState {
    pub(super) binder: Binder,
    pub(super) records: Vec<Arc<RouteRecord>>,
    pub(super) is_closed: bool,
    /// By the name of the module.
    pub(super) past: BTreeMap<String, PastVersions>,
    /// By the name of the module.
    pub(super) restore_failures: BTreeMap<String, RestoreFailure>,
}

impl AppInner {
    pub(super) fn new(options: AppOptions) -> Result<Self, Error> {
        let threads = Arc::new(Threads::start(options.clock)?);
        let executor: Arc<dyn Executor> = threads.clone();
        let compiler = Compiler::new(options.compile, options.cache)?;
        let engines = Engines::new(
            options.limits,
            options.max_memory,
            options.max_instances,
            options.router.show_crashes,
            options.perf_map,
            compiler,
        )?;
        Ok(Self {
            engines: Arc::new(engines),
            threads,
            routers: RouterFactory {
                memory: RequestMemory::new(&options.router),
                options: options.router,
                bus: Bus::new(executor.clone(), options.bus),
                executor,
                durations: RequestDurations::default(),
                // No client is slow to send.
                in_process: AdapterState::new("app", ServerOptions::new().body_timeout(None)),
            },
            drain: options.drain,
            closed: watch::Sender::new(false),
            ending: Mutex::default(),
            directory: Mutex::new(options.state),
            call_recorder: Arc::default(),
            state: Mutex::default(),
        })
    }
}

impl AppState {
    /// The events that modules use and that nobody listens to: module, event, and the reason.
    pub(super) fn missing_listeners(&self, bus: &Bus) -> Vec<(String, String, Failure)> {
        let mut missing_listeners = Vec::new();
        for module in self.binder.modules() {
            for event in &module.info.events_used {
                if let Err(reason) = bus.expect_listener(event) {
                    missing_listeners.push((module.info.name.clone(), event.clone(), reason));
                }
            }
        }
        missing_listeners
    }

    /// Warns of each event that nobody listens to any more, or that the changed module uses (spec C4).
    pub(super) fn warn_of_missing_listeners(&self, bus: &Bus, changed: &str, before: &[(String, String, Failure)]) {
        for (module, event, reason) in self.missing_listeners(bus) {
            let was_missing = before.iter().any(|(user, name, _)| (user, name) == (&module, &event));
            if module == changed || !was_missing {
                tracing::warn!(
                    target: "pointwork::events_used",
                    module,
                    event,
                    "the module uses an event that reaches no listener: {}",
                    reason.message()
                );
            }
        }
    }
}

impl App {
    pub(super) fn state(&self) -> MutexGuard<'_, AppState> {
        // A change is made on a copy, so a panic within one leaves the state whole.
        self.0.state.lock()
    }

    pub(super) fn directory(&self) -> Option<StateDirectory> {
        self.0.directory.lock().clone()
    }

    /// The state, for a change of it.
    ///
    /// # Errors
    /// [`Closed`](ErrorKind::Closed).
    pub(super) fn open_state(&self) -> Result<MutexGuard<'_, AppState>, Error> {
        let state = self.state();
        if state.is_closed {
            return Err(Error::closed());
        }
        Ok(state)
    }

    /// Changes the binder and publishes its routes, whole or not at all.
    pub(super) fn change(&self, change: impl FnOnce(&mut Binder) -> Result<(), Error>) -> Result<(), Error> {
        let mut state = self.open_state()?;
        let mut binder = state.binder.clone();
        change(&mut binder)?;
        let table = binder.stage(&self.0.routers)?;
        state.binder = binder;
        state.records = table.publish();
        Ok(())
    }
}
