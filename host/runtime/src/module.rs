//! One loaded module: compiled, probed, ready to serve.

use std::fmt;
use std::sync::Arc;

use pointwork_core::routing::{ControllerDeclaration, DeclaredRoute, RouteDeclaration, validate};
use pointwork_core::{Context, Crash, CrashKind, Handler, HandlerFuture, Outcome};
use sha2::{Digest, Sha256};
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, ComponentExportIndex, Instance, InstancePre};
use wasmtime::{PoolConcurrencyLimitError, Store, StoreLimitsBuilder, Trap};

use crate::bindings::exports::pointwork::module::routes::Controller;
use crate::concurrent::Concurrent;
use crate::engine::Engines;
use crate::executor::Threads;
use crate::guest::Guest;
use crate::inspect::{Form, Inspection, inspect};
use crate::options::ModuleLimits;
use crate::sequential::Sequential;
use crate::{Error, ErrorKind};

/// What is told of a loaded module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleInfo {
    /// The name under which it was loaded.
    pub name: String,
    /// The form of its handlers.
    pub form: Form,
    /// The version of the contract that it was built against.
    pub version: String,
    /// SHA-256 of its bytes, in hex.
    pub digest: String,
    /// Its size in bytes.
    pub size: usize,
    /// How many routes it declares.
    pub routes: usize,
    /// What it declares but hardly means, a sentence each: a method in lower case, a method `ALL`. Logged at load too.
    pub warnings: Vec<String>,
}

/// A module that can make instances of itself: what both forms share.
pub(crate) struct Template {
    pub(crate) name: Arc<str>,
    pub(crate) pre: InstancePre<Guest>,
    /// `declare-routes` and `handle`.
    pub(crate) declare: ComponentExportIndex,
    pub(crate) handle: ComponentExportIndex,
    pub(crate) limits: ModuleLimits,
}

impl Template {
    /// A store for one instance. Its epoch is due at once; whoever runs code in it sets what happens then.
    pub(crate) fn store(&self) -> Store<Guest> {
        let limits = StoreLimitsBuilder::new()
            .memory_size(self.limits.memory)
            .table_elements(self.limits.table_elements)
            .build();
        let mut store = Store::new(self.pre.engine(), Guest::new(self.name.clone(), limits));
        store.limiter(|guest| &mut guest.limits);
        store
    }

    async fn probe(&self) -> wasmtime::Result<Vec<Controller>> {
        let mut store = self.store();
        store.epoch_deadline_async_yield_and_update(1);
        let instance = self.pre.instantiate_async(&mut store).await?;
        let declare = self.declare_routes(&mut store, &instance)?;
        let (controllers,) = declare.call_async(&mut store, ()).await?;
        Ok(controllers)
    }

    fn declare_routes(
        &self,
        store: &mut Store<Guest>,
        instance: &Instance,
    ) -> wasmtime::Result<wasmtime::component::TypedFunc<(), (Vec<Controller>,)>> {
        instance.get_typed_func(store, self.declare)
    }
}

/// How the requests of a module reach its instances.
enum Runner {
    Sequential(Arc<Sequential>),
    Concurrent(Arc<Concurrent>),
}

/// A module that was loaded whole.
pub(crate) struct Module {
    pub(crate) info: ModuleInfo,
    pub(crate) routes: Vec<DeclaredRoute>,
    runner: Runner,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.info.fmt(f)
    }
}

impl Module {
    /// Checks, compiles and probes a component, and reads its declarations.
    pub(crate) async fn load(
        name: &str,
        bytes: Vec<u8>,
        limits: ModuleLimits,
        engines: &Arc<Engines>,
        threads: &Arc<Threads>,
    ) -> Result<Self, Error> {
        let digest = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let size = bytes.len();
        let (outline, makers) = (engines.clone(), name.to_owned());
        let compiling = threads.spawn_blocking(move || compile(&makers, &bytes, limits, &outline));
        let (template, pure, inspection) = compiling
            .await
            .map_err(|error| Error::new(ErrorKind::Compile, "compiling the component panicked").with_source(error))??;
        let fit = inspection.verdict()?;
        let template = Arc::new(template);
        let declared = probe(&template, threads).await?;
        let routes = validate(name, &declared)
            .map_err(|errors| Error::new(ErrorKind::Refused, "its declarations are refused").with_source(errors))?;
        let runner = match fit.form {
            Form::Synchronous => Runner::Sequential(Arc::new(Sequential::new(template, pure, threads.clone()))),
            Form::Asynchronous => Runner::Concurrent(Arc::new(Concurrent::new(template, threads.clone()))),
        };
        let info = ModuleInfo {
            name: name.to_owned(),
            form: fit.form,
            version: fit.version,
            digest,
            size,
            routes: routes.len(),
            warnings: crate::lint::warnings(&routes),
        };
        Ok(Self { info, routes, runner })
    }

    /// The handler of that number.
    pub(crate) fn handler(&self, number: u32) -> Arc<dyn Handler> {
        match &self.runner {
            Runner::Sequential(runner) => Arc::new(Numbered {
                runner: runner.clone(),
                number,
            }),
            Runner::Concurrent(runner) => Arc::new(Numbered {
                runner: runner.clone(),
                number,
            }),
        }
    }
}

/// Runs handlers by their number.
pub(crate) trait Run: Send + Sync + 'static {
    fn run(self: Arc<Self>, handler: u32, context: Context) -> HandlerFuture;
}

struct Numbered<R> {
    runner: Arc<R>,
    number: u32,
}

impl<R: Run> Handler for Numbered<R> {
    fn call(&self, context: Context) -> HandlerFuture {
        self.runner.clone().run(self.number, context)
    }
}

fn compile(
    name: &str,
    bytes: &[u8],
    limits: ModuleLimits,
    engines: &Engines,
) -> Result<(Template, bool, Inspection), Error> {
    let inspection = inspect(bytes)?;
    let fit = inspection.verdict()?;
    let shared = engines.of(fit.form)?;
    let component = Component::from_binary(&shared.engine, bytes).map_err(|error| {
        Error::new(ErrorKind::Compile, "the component does not compile").with_source(error.into_boxed_dyn_error())
    })?;
    let pre = shared.linker.instantiate_pre(&component).map_err(|error| {
        Error::new(
            ErrorKind::Compile,
            "the component does not link with this host's contract",
        )
        .with_source(error.into_boxed_dyn_error())
        .with_hint("build the module with an SDK of this host's version")
    })?;
    let export = |interface: &str, function: &str| {
        let prefix = format!("pointwork:module/{interface}@");
        let name = inspection.exports.iter().find(|name| name.starts_with(&prefix));
        let instance = name.and_then(|name| component.get_export_index(None, name));
        instance
            .and_then(|instance| component.get_export_index(Some(&instance), function))
            .ok_or_else(|| {
                Error::new(
                    ErrorKind::WrongWorld,
                    format!("`{prefix}…` has no function `{function}`"),
                )
            })
    };
    let handlers = match fit.form {
        Form::Synchronous => "handlers",
        Form::Asynchronous => "handlers-async",
    };
    let template = Template {
        name: name.into(),
        declare: export("routes", "declare-routes")?,
        handle: export(handlers, "handle")?,
        pre,
        limits,
    };
    Ok((template, is_pure(&component), inspection))
}

/// Whether a component imports only what reads a request. Nothing that such a component does can be seen from outside
/// but its value, and it never waits.
fn is_pure(component: &Component) -> bool {
    const READERS: [&str; 11] = [
        "context",
        "[method]context.method",
        "[method]context.path",
        "[method]context.query",
        "[method]context.param",
        "[method]context.params",
        "[method]context.header",
        "[method]context.headers",
        "[method]context.request-id",
        "[method]context.route",
        "[method]context.extension",
    ];
    let engine = component.engine();
    component
        .component_type()
        .imports(engine)
        .all(|(name, import)| match import.ty {
            ComponentItem::ComponentInstance(instance) if name.contains("/context@") => instance
                .exports(engine)
                .all(|(name, export)| !is_function(&export.ty) || READERS.contains(&name)),
            _ => true,
        })
}

fn is_function(item: &ComponentItem) -> bool {
    matches!(item, ComponentItem::ComponentFunc(_))
}

async fn probe(template: &Arc<Template>, threads: &Threads) -> Result<Vec<ControllerDeclaration>, Error> {
    let probed = template.clone();
    let limit = template.limits.probe;
    let probing = threads.spawn_guest(async move { tokio::time::timeout(limit, probed.probe()).await });
    let failed = |what: &str| Error::new(ErrorKind::Probe, what.to_owned());
    let controllers = match probing.await {
        Ok(Ok(Ok(controllers))) => controllers,
        Ok(Ok(Err(trap))) => {
            return Err(failed("its `declare-routes` failed").with_source(trap.into_boxed_dyn_error()));
        }
        Ok(Err(_)) => return Err(failed(&format!("its `declare-routes` took longer than {limit:?}"))),
        Err(panic) => return Err(failed("calling its `declare-routes` panicked").with_source(panic)),
    };
    Ok(controllers.into_iter().map(declaration_in).collect())
}

fn declaration_in(controller: Controller) -> ControllerDeclaration {
    let routes = controller.routes.into_iter().map(|route| RouteDeclaration {
        handler: route.handler,
        name: route.name,
        method: route.method,
        paths: route.paths,
    });
    ControllerDeclaration {
        name: controller.name,
        prefix: controller.prefix,
        routes: routes.collect(),
    }
}

/// What is told of a guest that broke, for the log only: the trap, what the guest said, the backtrace.
pub(crate) fn trapped(template: &Template, error: &wasmtime::Error, said: Option<String>) -> Outcome {
    let what = said.map_or("trapped".to_owned(), |said| format!("panicked: {said}"));
    // The debug form of the error has its causes and the backtrace with the guest's function names.
    let message = format!("the guest {what}: {error:?}");
    let kind = match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => CrashKind::Deadline,
        // Other modules have the whole pool; this one did nothing wrong.
        None if error.is::<PoolConcurrencyLimitError>() => CrashKind::Limit,
        _ => CrashKind::Trap,
    };
    Outcome::Crashed(Box::new(Crash::new(kind, message).in_module(&*template.name)))
}

/// The answer when every instance is busy for too long.
pub(crate) fn overloaded(template: &Template) -> Outcome {
    let limits = &template.limits;
    let message = format!(
        "no instance of {} became free within {:?}",
        limits.instances, limits.queue_wait
    );
    Outcome::Crashed(Box::new(
        Crash::new(CrashKind::Limit, message).in_module(&*template.name),
    ))
}
