//! The WebAssembly engines of an application.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Config, Engine, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig};

use crate::app::options::{AppOptions, ModuleLimits};
use crate::component::compiler::Compiler;
use crate::component::inspect::Form;
use crate::guest::Guest;
use crate::guest::bindings::{context, context_async, events, events_async, log};
use crate::{Error, ErrorKind};

/// How long a guest runs before it is interrupted, to yield or to be ended.
pub(crate) const SLICE: Duration = Duration::from_millis(10);

/// What host functions need of a fiber's stack on top of what the guest may have, in bytes.
const HOST_STACK: usize = 512 * 1024;

/// How many core modules, memories and tables a component may bring on average. Engines of scripting languages bring
/// several.
const PARTS: u32 = 4;

/// One engine for each form of module and each size of stack, made when the first such module is loaded.
///
/// One for each form, because one with concurrency support is slower even for synchronous functions: `cargo bench` in
/// `tests/bench` shows the ratio.
pub(crate) struct Engines {
    options: AppOptions,
    compiler: Compiler,
    made: Mutex<HashMap<(Form, usize), Shared>>,
    ticker: Ticker,
}

/// An engine with everything that a module may import.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    /// The contract, and nothing else.
    contract: Linker<Guest>,
}

impl Engines {
    pub(crate) fn new(options: &AppOptions) -> Result<Self, Error> {
        Ok(Self {
            options: options.clone(),
            compiler: Compiler::new(options),
            made: Mutex::default(),
            ticker: Ticker::start()?,
        })
    }

    /// What a module may use that has no limits of its own.
    pub(crate) fn limits(&self) -> &ModuleLimits {
        &self.options.limits
    }

    /// What the application may use.
    pub(crate) fn options(&self) -> &AppOptions {
        &self.options
    }

    /// What compiles components for these engines.
    pub(crate) fn compiler(&self) -> &Compiler {
        &self.compiler
    }

    /// The engine for modules of that form whose calls have a stack of so many bytes.
    ///
    /// # Errors
    /// [`Engine`](ErrorKind::Engine) if there is no address space for its pool.
    pub(crate) fn of(&self, form: Form, stack: usize) -> Result<Shared, Error> {
        let mut engines = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shared) = engines.get(&(form, stack)) {
            return Ok(shared.clone());
        }
        let made = Shared::new(form, stack, &self.options).map_err(|error| {
            Error::new(ErrorKind::Engine, "the WebAssembly engine does not start").with_source(error)
        })?;
        self.ticker.add(&made.engine);
        engines.insert((form, stack), made.clone());
        Ok(made)
    }
}

/// What decides how components are compiled.
pub(crate) fn config(form: Form, stack: usize) -> Config {
    let concurrent = form == Form::Asynchronous;
    let mut config = Config::new();
    config
        .concurrency_support(concurrent)
        .wasm_component_model_async(concurrent)
        .wasm_memory64(false)
        .epoch_interruption(true)
        .max_wasm_stack(stack)
        .async_stack_size(stack.saturating_add(HOST_STACK));
    config
}

impl Shared {
    fn new(form: Form, stack: usize, options: &AppOptions) -> wasmtime::Result<Self> {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_component_instances(options.max_instances)
            .total_core_instances(options.max_instances * PARTS)
            .total_memories(options.max_instances * 2)
            .total_tables(options.max_instances * PARTS)
            .total_stacks(options.max_instances)
            .max_memory_size(options.max_memory)
            .table_elements(options.limits.table_elements)
            .max_component_instance_size(4 * 1024 * 1024)
            .max_core_instance_size(4 * 1024 * 1024);
        let mut config = config(form, stack);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config)?;
        let mut contract = Linker::new(&engine);
        context::add_to_linker::<_, HasSelf<Guest>>(&mut contract, |guest| guest)?;
        events::add_to_linker::<_, HasSelf<Guest>>(&mut contract, |guest| guest)?;
        log::add_to_linker::<_, HasSelf<Guest>>(&mut contract, |guest| guest)?;
        if form == Form::Asynchronous {
            context_async::add_to_linker::<_, HasSelf<Guest>>(&mut contract, |guest| guest)?;
            events_async::add_to_linker::<_, HasSelf<Guest>>(&mut contract, |guest| guest)?;
        }
        Ok(Self { engine, contract })
    }

    /// Links a component with the contract, and with what modules can be granted if it asks for more.
    ///
    /// # Errors
    /// If it imports something else.
    pub(crate) fn link(&self, component: &Component, asks_for_more: bool) -> wasmtime::Result<InstancePre<Guest>> {
        if !asks_for_more {
            return self.contract.instantiate_pre(component);
        }
        // Most modules have no grants, so that no start has to wait until WASI is there for them.
        let mut with_wasi = self.contract.clone();
        wasmtime_wasi::p2::add_to_linker_async(&mut with_wasi)?;
        wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut with_wasi)?;
        with_wasi.instantiate_pre(component)
    }
}

/// Moves the epoch on, from a thread of its own: a timer on an executor would stand still when all its threads are busy
/// with guests, which is when it is needed.
struct Ticker {
    engines: Arc<Mutex<Vec<EngineWeak>>>,
    stop: Arc<AtomicBool>,
    thread: thread::Thread,
}

impl Ticker {
    fn start() -> Result<Self, Error> {
        let engines = Arc::new(Mutex::new(Vec::<EngineWeak>::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (watched, stopped) = (engines.clone(), stop.clone());
        let work = move || {
            while !stopped.load(Ordering::Relaxed) {
                thread::park_timeout(SLICE);
                for engine in watched.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                    if let Some(engine) = engine.upgrade() {
                        engine.increment_epoch();
                    }
                }
            }
        };
        let thread = thread::Builder::new()
            .name("pointwork-epoch".to_owned())
            .spawn(work)
            .map_err(|error| Error::new(ErrorKind::Engine, "the epoch thread does not start").with_source(error))?
            .thread()
            .clone();
        Ok(Self { engines, stop, thread })
    }

    fn add(&self, engine: &Engine) {
        self.engines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(engine.weak());
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.unpark();
    }
}
