//! One loaded module: compiled, probed, ready to serve.

use std::fmt;
use std::sync::Arc;

use pointwork_core::routing::{ControllerDeclaration, DeclaredRoute, RouteDeclaration, validate};
use pointwork_core::{
    BoxFuture, Context, Crash, CrashKind, Delivery, Failure, Handler, HandlerFuture, Listener, Payload, Subscription,
};
use sha2::{Digest, Sha256};
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, ComponentExportIndex, Instance, InstancePre, Lift};
use wasmtime::{PoolConcurrencyLimitError, Store, StoreLimitsBuilder, Trap};

use crate::bindings::exports::pointwork::module::channels::{Channel, Listener as DeclaredListener};
use crate::bindings::exports::pointwork::module::routes::Controller;
use crate::call::{Event, Request};
use crate::concurrent::Concurrent;
use crate::engine::Engines;
use crate::executor::Threads;
use crate::guest::Guest;
use crate::inspect::{Fit, Form, Inspection, inspect};
use crate::levels::Levels;
use crate::options::{ModuleLimits, ModuleOptions};
use crate::sequential::Sequential;
use crate::{Capability, Error, ErrorKind, Grants};

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
    /// The channels that it declares, in its order.
    pub channels: Vec<ChannelInfo>,
    /// What it imports beyond the contract.
    pub asks: Vec<Capability>,
    /// What it is granted, one text for each capability; see [`Grants::describe`].
    pub granted: Vec<String>,
    /// What it declares but hardly means, a sentence each: a method in lower case, a method `ALL`. Logged at load too.
    pub warnings: Vec<String>,
}

/// A channel of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelInfo {
    /// Its name.
    pub name: String,
    /// The names of its events, in the module's order.
    pub events: Vec<String>,
}

/// A module that can make instances of itself: what both forms share.
pub(crate) struct Template {
    pub(crate) name: Arc<str>,
    pub(crate) pre: InstancePre<Guest>,
    pub(crate) declare_routes: Option<ComponentExportIndex>,
    pub(crate) handle: Option<ComponentExportIndex>,
    pub(crate) declare_channels: Option<ComponentExportIndex>,
    pub(crate) deliver: Option<ComponentExportIndex>,
    pub(crate) limits: ModuleLimits,
    grants: Arc<Grants>,
}

/// What a module declares, as it comes from the guest.
struct Declared {
    controllers: Vec<Controller>,
    channels: Vec<Channel>,
}

impl Template {
    /// A store for one instance. Its epoch is due at once; whoever runs code in it sets what happens then.
    ///
    /// # Errors
    /// If what the module is granted cannot be had.
    pub(crate) fn store(&self) -> wasmtime::Result<Store<Guest>> {
        let limits = StoreLimitsBuilder::new()
            .memory_size(self.limits.memory)
            .table_elements(self.limits.table_elements)
            .build();
        let guest = Guest::new(&self.name, limits, &self.grants)?;
        let mut store = Store::new(self.pre.engine(), guest);
        store.limiter(|guest| &mut guest.limits);
        Ok(store)
    }

    async fn probe(&self) -> wasmtime::Result<Declared> {
        let mut store = self.store()?;
        store.epoch_deadline_async_yield_and_update(1);
        let instance = self.pre.instantiate_async(&mut store).await?;
        Ok(Declared {
            controllers: declare(&mut store, &instance, self.declare_routes)
                .await
                .map_err(|error| error.context("its `declare-routes` failed"))?,
            channels: declare(&mut store, &instance, self.declare_channels)
                .await
                .map_err(|error| error.context("its `declare-channels` failed"))?,
        })
    }
}

/// Calls an export that lists declarations; the list is empty if the module has no such export.
async fn declare<T>(
    store: &mut Store<Guest>,
    instance: &Instance,
    export: Option<ComponentExportIndex>,
) -> wasmtime::Result<Vec<T>>
where
    Vec<T>: Lift + Send + Sync + 'static,
    T: 'static,
{
    let Some(export) = export else {
        return Ok(Vec::new());
    };
    let declare = instance.get_typed_func::<(), (Vec<T>,)>(&mut *store, export)?;
    let (declared,) = declare.call_async(&mut *store, ()).await?;
    Ok(declared)
}

/// How the calls of a module reach its instances.
enum Runner {
    Sequential(Levels<Sequential>),
    Concurrent(Levels<Concurrent>),
}

/// A module that was loaded whole.
pub(crate) struct Module {
    pub(crate) info: ModuleInfo,
    pub(crate) routes: Vec<DeclaredRoute>,
    channels: Vec<Channel>,
    pub(crate) options: ModuleOptions,
    runner: Arc<Runner>,
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
        options: ModuleOptions,
        engines: &Arc<Engines>,
        threads: &Arc<Threads>,
    ) -> Result<Self, Error> {
        let digest = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let size = bytes.len();
        let (outline, makers, of_makers) = (engines.clone(), name.to_owned(), options.clone());
        let compiling = threads.spawn_blocking(move || compile(&makers, &bytes, of_makers, &outline));
        let compiled = compiling
            .await
            .map_err(|error| Error::new(ErrorKind::Compile, "compiling the component panicked").with_source(error))??;
        let Compiled {
            template,
            pure,
            inspection,
            fit,
        } = compiled;
        let template = Arc::new(template);
        let Declared { controllers, channels } = probe(&template, threads).await?;
        let controllers: Vec<_> = controllers.into_iter().map(declaration_in).collect();
        let routes = validate(name, &controllers)
            .map_err(|errors| Error::new(ErrorKind::Refused, "its declarations are refused").with_source(errors))?;
        let info = ModuleInfo {
            name: name.to_owned(),
            form: fit.form,
            version: fit.version,
            digest,
            size,
            routes: routes.len(),
            channels: channels.iter().map(ChannelInfo::of).collect(),
            asks: inspection.asks(),
            granted: options.grants.describe(),
            warnings: crate::lint::warnings(&routes),
        };
        let runner = Arc::new(match fit.form {
            Form::Synchronous => Runner::Sequential(Levels::new(Sequential::new(template, pure, threads.clone()))),
            Form::Asynchronous => Runner::Concurrent(Levels::new(Concurrent::new(template, threads.clone()))),
        });
        Ok(Self {
            info,
            routes,
            channels,
            options,
            runner,
        })
    }

    /// The handler of that number.
    pub(crate) fn handler(&self, number: u32) -> Arc<dyn Handler> {
        Arc::new(Numbered {
            runner: self.runner.clone(),
            number,
        })
    }

    /// The listeners of its channels, in its order.
    pub(crate) fn listeners(&self) -> Vec<Subscription> {
        let module: Arc<str> = self.info.name.as_str().into();
        let subscription = |channel: &Channel, listener: &DeclaredListener| Subscription {
            channel: channel.name.clone(),
            event: listener.event.clone(),
            module: Some(self.info.name.clone()),
            listener: Arc::new(Heard {
                module: module.clone(),
                runner: self.runner.clone(),
                number: listener.id,
            }),
        };
        let channels = self.channels.iter();
        channels
            .flat_map(|channel| {
                channel
                    .listeners
                    .iter()
                    .map(move |listener| subscription(channel, listener))
            })
            .collect()
    }
}

impl ChannelInfo {
    fn of(channel: &Channel) -> Self {
        Self {
            name: channel.name.clone(),
            events: channel
                .listeners
                .iter()
                .map(|listener| listener.event.clone())
                .collect(),
        }
    }
}

/// Runs a handler by its number.
struct Numbered {
    runner: Arc<Runner>,
    number: u32,
}

impl Handler for Numbered {
    fn call(&self, context: Context) -> HandlerFuture {
        let request = Request {
            handler: self.number,
            context,
        };
        // Nothing waits for a request but its client.
        match &*self.runner {
            Runner::Sequential(levels) => levels.at(0).clone().handle(request),
            Runner::Concurrent(levels) => levels.at(0).clone().run(request),
        }
    }
}

/// Runs a listener by its number.
struct Heard {
    module: Arc<str>,
    runner: Arc<Runner>,
    number: u32,
}

impl Listener for Heard {
    fn deliver(&self, delivery: Delivery, payload: Payload) -> BoxFuture<'static, Result<Payload, Failure>> {
        let reentrance = delivery.caller().chain().reentrance(&self.module);
        let event = Event {
            listener: self.number,
            delivery,
            payload,
        };
        match &*self.runner {
            Runner::Sequential(levels) => levels.at(reentrance).clone().run(event),
            Runner::Concurrent(levels) => levels.at(reentrance).clone().run(event),
        }
    }
}

/// What comes of compiling a component.
struct Compiled {
    template: Template,
    pure: bool,
    inspection: Inspection,
    fit: Fit,
}

fn compile(name: &str, bytes: &[u8], options: ModuleOptions, engines: &Engines) -> Result<Compiled, Error> {
    let inspection = inspect(bytes)?;
    let fit = inspection.verdict(&options.grants)?;
    let shared = engines.of(fit.form)?;
    let component = Component::from_binary(&shared.engine, bytes).map_err(|error| {
        Error::new(ErrorKind::Compile, "the component does not compile").with_source(error.into_boxed_dyn_error())
    })?;
    let asks_for_more = inspection.foreign().next().is_some();
    let linker = if asks_for_more {
        &shared.with_wasi
    } else {
        &shared.contract
    };
    let pre = linker.instantiate_pre(&component).map_err(|error| {
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
    let (handlers, listeners) = match fit.form {
        Form::Synchronous => ("handlers", "listeners"),
        Form::Asynchronous => ("handlers-async", "listeners-async"),
    };
    let of = |there: bool, interface: &str, function: &str| there.then(|| export(interface, function)).transpose();
    let mut limits = options.limits.unwrap_or_else(|| engines.limits().clone());
    if !inspection.takes_several {
        // Each of its calls would hold up the next one, which may be what the first waits for.
        limits.in_flight = 1;
    }
    let template = Template {
        name: name.into(),
        declare_routes: of(fit.controllers, "routes", "declare-routes")?,
        handle: of(fit.controllers, handlers, "handle")?,
        declare_channels: of(fit.channels, "channels", "declare-channels")?,
        deliver: of(fit.channels, listeners, "deliver")?,
        pre,
        limits,
        grants: Arc::new(options.grants),
    };
    Ok(Compiled {
        template,
        pure: !fit.channels && !asks_for_more && is_pure(&component),
        inspection,
        fit,
    })
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

async fn probe(template: &Arc<Template>, threads: &Threads) -> Result<Declared, Error> {
    let probed = template.clone();
    let limit = template.limits.probe;
    let probing = threads.spawn_guest(async move { tokio::time::timeout(limit, probed.probe()).await });
    let failed = |what: &str| Error::new(ErrorKind::Probe, what.to_owned());
    match probing.await {
        Ok(Ok(Ok(declared))) => Ok(declared),
        Ok(Ok(Err(trap))) => Err(failed("reading its declarations failed").with_source(trap.into_boxed_dyn_error())),
        Ok(Err(_)) => Err(failed(&format!("reading its declarations took longer than {limit:?}"))),
        Err(panic) => Err(failed("reading its declarations panicked").with_source(panic)),
    }
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
pub(crate) fn trapped(template: &Template, error: &wasmtime::Error, said: Option<String>) -> Crash {
    let what = said.map_or("trapped".to_owned(), |said| format!("panicked: {said}"));
    // The debug form of the error has its causes and the backtrace with the guest's function names.
    let message = format!("the guest {what}: {error:?}");
    let kind = match error.downcast_ref::<Trap>() {
        Some(Trap::Interrupt) => CrashKind::Deadline,
        // Other modules have the whole pool; this one did nothing wrong.
        None if error.is::<PoolConcurrencyLimitError>() => CrashKind::Limit,
        _ => CrashKind::Trap,
    };
    Crash::new(kind, message).in_module(&*template.name)
}

/// The answer when every instance is busy for too long.
pub(crate) fn overloaded(template: &Template) -> Crash {
    let limits = &template.limits;
    let message = format!(
        "no instance of {} became free within {:?}",
        limits.instances, limits.queue_wait
    );
    Crash::new(CrashKind::Limit, message).in_module(&*template.name)
}
