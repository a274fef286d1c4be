//! The state of an application, and changes of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use pointwork_core::{Bus, Executor, RouteRecord};

use super::App;
use crate::app::binder::{Binder, RouterFactory};
use crate::app::drain::PastVersions;
use crate::app::options::AppOptions;
use crate::component::compiler::Compiler;
use crate::component::engine::Engines;
use crate::scheduling::threads::Threads;
use crate::{Error, StateDirectory};

pub(super) struct AppInner {
    pub(super) engines: Arc<Engines>,
    pub(super) threads: Arc<Threads>,
    pub(super) routers: RouterFactory,
    pub(super) directory: Option<StateDirectory>,
    state: Mutex<AppState>,
}

#[derive(Default)]
pub(super) struct AppState {
    pub(super) binder: Binder,
    pub(super) records: Vec<Arc<RouteRecord>>,
    /// By the name of the module.
    pub(super) past: BTreeMap<String, PastVersions>,
}

impl AppInner {
    pub(super) fn new(options: AppOptions) -> Result<Self, Error> {
        let threads = Arc::new(Threads::start()?);
        let executor: Arc<dyn Executor> = threads.clone();
        let compiler = Compiler::new(options.compile, options.cache);
        let engines = Engines::new(options.limits, options.max_memory, options.max_instances, compiler)?;
        Ok(Self {
            engines: Arc::new(engines),
            threads,
            routers: RouterFactory {
                options: options.router,
                bus: Bus::new(executor.clone(), options.bus),
                executor,
            },
            directory: options.state,
            state: Mutex::default(),
        })
    }
}

impl App {
    pub(super) fn state(&self) -> MutexGuard<'_, AppState> {
        // A change is made on a copy, so a panic within one leaves the state whole.
        self.0.state.lock()
    }

    /// Changes the binder and publishes its routes, whole or not at all.
    pub(super) fn change(&self, change: impl FnOnce(&mut Binder) -> Result<(), Error>) -> Result<(), Error> {
        let mut state = self.state();
        let mut binder = state.binder.clone();
        change(&mut binder)?;
        let table = binder.stage(&self.0.routers)?;
        state.binder = binder;
        state.records = table.publish();
        Ok(())
    }
}
