//! The WebAssembly engines of an application.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, ProfilingStrategy};

use crate::component::compiler::Compiler;
use crate::component::inspect::Form;
use crate::component::pool_account::PoolAccount;
use crate::component::settings::CodeSettings;
use crate::guest::bindings::{
    context, context_async, context_sync, environment, events, events_async, events_sync, log,
};
use crate::guest::{Guest, wasi};
use crate::scheduling::epoch::EpochTicker;
use crate::{Error, ErrorKind, ModuleLimits, OrError};

/// One engine for each form of module and each size of stack, made when the first such module is loaded.
///
/// Each form has its own, because an engine with concurrency support is slower even for synchronous functions: `cargo
/// bench` in `tests/bench` shows the ratio.
pub(crate) struct Engines {
    /// The limits of a module without limits of its own.
    pub(crate) limits: ModuleLimits,
    max_memory: usize,
    max_instances: u32,
    development: bool,
    perf_map: bool,
    pub(crate) compiler: Compiler,
    engines: Mutex<HashMap<CodeSettings, LinkedEngine>>,
    pub(crate) ticker: EpochTicker,
}

#[derive(Clone)]
pub(crate) struct LinkedEngine {
    pub(crate) engine: Engine,
    pub(crate) account: Arc<PoolAccount>,
    linker: Linker<Guest>,
}

impl Engines {
    /// `limits` are those of a module without limits of its own; the others size the pool of each engine.
    pub(crate) fn new(
        limits: ModuleLimits,
        max_memory: usize,
        max_instances: u32,
        development: bool,
        perf_map: bool,
        compiler: Compiler,
    ) -> Result<Self, Error> {
        Ok(Self {
            limits,
            max_memory,
            max_instances,
            development,
            perf_map,
            compiler,
            engines: Mutex::default(),
            ticker: EpochTicker::start()?,
        })
    }

    /// The settings of a module's code.
    pub(crate) fn code(&self, form: Form, stack: usize) -> CodeSettings {
        CodeSettings {
            form,
            stack,
            development: self.development,
        }
    }

    /// The engine with these settings.
    ///
    /// # Errors
    /// [`Engine`](ErrorKind::Engine) if there is no address space for its pool.
    pub(crate) fn engine(&self, settings: CodeSettings) -> Result<LinkedEngine, Error> {
        let mut engines = self.engines.lock();
        if let Some(engine) = engines.get(&settings) {
            return Ok(engine.clone());
        }
        let account = PoolAccount::new(self.max_instances);
        let pool = self.pool(&account);
        let mut config = settings.config();
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        if self.perf_map {
            config.profiler(ProfilingStrategy::PerfMap);
        }
        let engine = LinkedEngine::new(&config, settings.form, account)
            .or_error(ErrorKind::Engine, "the WebAssembly engine does not start")
            .map_err(|error| {
                error.with_hint(
                    "its pool reserves address space: lower `memory`, `stack` or `table-elements` of the limits, or `max-memory` \
                     or `max-instances` of the application",
                )
            })?;
        self.ticker.add(&engine.engine);
        engines.insert(settings, engine.clone());
        Ok(engine)
    }

    fn pool(&self, account: &PoolAccount) -> PoolingAllocationConfig {
        let mut pool = account.pool();
        pool.max_memory_size(self.max_memory)
            .table_elements(self.limits.table_elements)
            .max_component_instance_size(4 * 1024 * 1024)
            .max_core_instance_size(4 * 1024 * 1024);
        pool
    }
}

impl LinkedEngine {
    fn new(config: &Config, form: Form, account: Arc<PoolAccount>) -> wasmtime::Result<Self> {
        let engine = Engine::new(config)?;
        let mut linker = Linker::new(&engine);
        context::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)?;
        events::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)?;
        environment::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)?;
        log::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)?;
        match form {
            Form::Synchronous => {
                context_sync::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)?;
                events_sync::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)?;
            }
            Form::Asynchronous => {
                context_async::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)?;
                events_async::add_to_linker::<_, HasSelf<Guest>>(&mut linker, |guest| guest)?;
            }
        }
        Ok(Self {
            engine,
            account,
            linker,
        })
    }

    /// Links a component with the contract, and with WASI if it imports it.
    ///
    /// # Errors
    /// If it imports something else.
    pub(crate) fn link(&self, component: &Component, imports_wasi: bool) -> wasmtime::Result<InstancePre<Guest>> {
        if !imports_wasi {
            return self.linker.instantiate_pre(component);
        }
        // Few modules import WASI, so that it is added only for them.
        let mut linker = self.linker.clone();
        wasi::add_to_linker(&mut linker)?;
        linker.instantiate_pre(component)
    }
}
