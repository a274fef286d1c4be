//! One loaded module: compiled, probed, ready to serve.

use std::fmt;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use pointwork_core::routing::{ControllerDeclaration, DeclaredRoute, RouteDeclaration, validate};
use pointwork_core::{
    Body, BoxFuture, Bus, Context, Crash, CrashKind, Delivery, Failure, FailureCode, Handler, HandlerFuture, Listener,
    Origin, Outcome, Payload, RequestLimits, Route, RouteRecord, Subscription, error_reply,
};
use tokio::time::timeout;

use crate::app::options::ModuleOptions;
use crate::component::engine::Engines;
use crate::component::inspect::Form;
use crate::component::link::{Compiled, compile};
use crate::component::module_pre::{Declared, ModulePre, probe};
use crate::guest::bindings::exports::pointwork::module::channels::{Channel, Listener as DeclaredListener};
use crate::guest::bindings::exports::pointwork::module::routes::Controller;
use crate::instance::async_pool::AsyncPool;
use crate::instance::call::{Event, Request};
use crate::instance::reentrancy::Reentrancy;
use crate::instance::sync_pool::SyncPool;
use crate::scheduling::call_history::{CallHistories, CallHistory, Callee};
use crate::scheduling::metrics::Metrics;
use crate::scheduling::status::Usage;
use crate::scheduling::threads::Threads;
use crate::{Capability, Error, ErrorKind};

/// What is told of a loaded module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleInfo {
    /// The name under which it was loaded.
    pub name: String,
    /// The form of its handlers and listeners.
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
    /// The capabilities that it imports, beyond the contract.
    pub capabilities: Vec<Capability>,
    /// What it is granted, one text for each capability; see [`Grants::describe`](crate::Grants::describe).
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

/// A version of a module that was loaded whole.
pub(crate) struct Module {
    pub(crate) info: ModuleInfo,
    pub(crate) options: ModuleOptions,
    declared: Arc<Validated>,
    runner: Arc<Runner>,
}

/// What a version declares.
struct Validated {
    routes: Vec<DeclaredRoute>,
    channels: Vec<Channel>,
}

/// How the calls of a version reach its instances.
struct Runner {
    pre: Arc<ModulePre>,
    pure: bool,
    threads: Arc<Threads>,
    instances: Instances,
    histories: CallHistories,
}

enum Instances {
    SyncPool(Reentrancy<SyncPool>),
    AsyncPool(Reentrancy<AsyncPool>),
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
        bytes: Arc<[u8]>,
        options: ModuleOptions,
        engines: &Arc<Engines>,
        threads: &Arc<Threads>,
        bus: &Bus,
    ) -> Result<Self, Error> {
        let digest = crate::digest(&bytes);
        if let Some(expected) = &options.digest
            && !expected.eq_ignore_ascii_case(&digest)
        {
            let message = format!("the component has the SHA-256 `{digest}`, expected `{expected}`");
            return Err(Error::new(ErrorKind::Read, message).with_hint("the file may be truncated, or another one"));
        }
        let size = bytes.len();
        let compiled = compile(name, bytes, options.clone(), engines, threads, bus.caller()).await?;
        let Compiled {
            pre,
            pure,
            inspection,
            fit,
        } = compiled;
        let pre = Arc::new(pre);
        let Declared { controllers, channels } = probe(&pre, threads).await?;
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
            capabilities: inspection.capabilities(),
            granted: options.grants.describe(),
            warnings: crate::component::lint::warnings(&routes),
        };
        Ok(Self {
            info,
            options,
            declared: Arc::new(Validated { routes, channels }),
            runner: Arc::new(Runner::new(fit.form, pre, pure, threads.clone())),
        })
    }

    /// The same version as if it had never run: no instance, nothing counted.
    pub(crate) fn anew(&self) -> Self {
        let runner = &self.runner;
        let pre = Arc::new(runner.pre.anew());
        Self {
            info: self.info.clone(),
            options: self.options.clone(),
            declared: self.declared.clone(),
            runner: Arc::new(Runner::new(self.info.form, pre, runner.pure, runner.threads.clone())),
        }
    }

    /// How many routes it declares.
    pub(crate) fn declares_routes(&self) -> bool {
        !self.declared.routes.is_empty()
    }

    /// Its routes under a prefix, in its order.
    ///
    /// # Errors
    /// [`Refused`](ErrorKind::Refused) if a route cannot stand under the prefix.
    pub(crate) fn routes(&self, prefix: &str, origin: Origin) -> Result<Vec<Route>, Error> {
        let route = |declared: &DeclaredRoute| {
            let pattern = declared.pattern.prefixed(prefix).map_err(|error| {
                let message = format!("the routes of module `{}` cannot be prefixed", self.info.name);
                Error::new(ErrorKind::Refused, message).with_source(error)
            })?;
            let record = RouteRecord {
                method: declared.filter.to_string(),
                path: pattern.as_str().to_owned(),
                origin,
                module: Some(self.info.name.clone()),
                controller: Some(declared.controller.to_string()),
                handler: Some(declared.handler_name.to_string()),
                unavailable_on: Vec::new(),
            };
            Ok(Route {
                filter: declared.filter.clone(),
                pattern,
                record: Arc::new(record),
                handler: self.handler(declared),
            })
        };
        self.declared.routes.iter().map(route).collect()
    }

    /// Ends what is in flight on it.
    pub(crate) fn cut(&self) {
        self.runner.pre.cut.cancel();
    }

    /// Frees every instance that is idle or becomes so.
    pub(crate) fn retire(&self) {
        self.runner.pre.retired.store(true, Ordering::Relaxed);
        self.shrink();
    }

    /// Frees instances that were idle for too long.
    fn shrink(&self) {
        match &self.runner.instances {
            Instances::SyncPool(levels) => levels.shrink(),
            Instances::AsyncPool(levels) => levels.shrink(),
        }
    }

    /// Time goes by, a [`TICK`](crate::scheduling::call_history::TICK) each: what its calls did is forgotten in the end, and instances that
    /// were idle for too long are freed.
    pub(crate) fn tick(&self) {
        self.runner.histories.tick(&self.info.name);
        self.shrink();
    }

    /// What counts its calls.
    pub(crate) fn metrics(&self) -> &Metrics {
        &self.runner.pre.metrics
    }

    /// What its calls use.
    pub(crate) fn usage(&self) -> Usage {
        let idle = match &self.runner.instances {
            Instances::SyncPool(levels) => levels.idle(),
            Instances::AsyncPool(levels) => levels.idle(),
        };
        Usage {
            idle: idle.instances,
            held: idle.held,
            ..self.metrics().usage()
        }
    }

    /// The handler of a route.
    fn handler(&self, route: &DeclaredRoute) -> Arc<dyn Handler> {
        let number = route.handler;
        let histories = &self.runner.histories;
        Arc::new(WasmHandler {
            runner: self.runner.clone(),
            history: histories.of(Callee::Handler(number), || {
                format!("{}.{}", route.controller, route.handler_name)
            }),
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
            listener: Arc::new(WasmListener {
                module: module.clone(),
                runner: self.runner.clone(),
                history: self.runner.histories.of(Callee::Listener(listener.id), || {
                    format!("{}:{}", channel.name, listener.event)
                }),
                number: listener.id,
            }),
        };
        let channels = self.declared.channels.iter();
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

impl Runner {
    fn new(form: Form, pre: Arc<ModulePre>, pure: bool, threads: Arc<Threads>) -> Self {
        let instances = match form {
            Form::Synchronous => {
                Instances::SyncPool(Reentrancy::new(SyncPool::new(pre.clone(), pure, threads.clone())))
            }
            Form::Asynchronous => Instances::AsyncPool(Reentrancy::new(AsyncPool::new(pre.clone(), threads.clone()))),
        };
        Self {
            pre,
            pure,
            threads,
            instances,
            histories: CallHistories::default(),
        }
    }
}

/// Runs a handler by its number.
struct WasmHandler {
    runner: Arc<Runner>,
    history: Arc<CallHistory>,
    number: u32,
}

impl Handler for WasmHandler {
    fn call(&self, context: Context) -> HandlerFuture {
        let counted = match self.runner.pre.metrics.admit() {
            Ok(counted) => counted,
            Err(left) => return Box::pin(ready(Outcome::Reply(held_back(left)))),
        };
        self.history.called();
        let request = Request {
            handler: self.number,
            history: self.history.clone(),
            context,
        };
        // Nothing waits for a request but its client.
        match &self.runner.instances {
            Instances::SyncPool(levels) => levels.at(0).clone().handle(request, counted),
            Instances::AsyncPool(levels) => levels.at(0).clone().run(request, counted),
        }
    }

    fn limits(&self) -> RequestLimits {
        let own = &self.runner.pre.limits;
        let mut limits = RequestLimits::default();
        limits.deadline = own.deadline;
        limits.body = own.body;
        limits.headers = Some(own.headers);
        limits
    }
}

/// The answer of a module that is held back, in whole seconds as HTTP has them.
fn held_back(left: Duration) -> http::Response<Body> {
    let mut reply = error_reply(StatusCode::SERVICE_UNAVAILABLE, "the server is busy");
    let seconds = left.as_secs_f64().ceil().max(1.0);
    if let Ok(after) = HeaderValue::try_from(format!("{seconds:.0}")) {
        reply.headers_mut().insert(RETRY_AFTER, after);
    }
    reply
}

/// Runs a listener by its number.
struct WasmListener {
    module: Arc<str>,
    runner: Arc<Runner>,
    history: Arc<CallHistory>,
    number: u32,
}

impl Listener for WasmListener {
    fn deliver(&self, delivery: Delivery, payload: Payload) -> BoxFuture<'static, Result<Payload, Failure>> {
        let pre = &self.runner.pre;
        let counted = match pre.metrics.admit() {
            Ok(counted) => counted,
            Err(left) => {
                let message = format!("module `{}` is held back for another {left:?}", self.module);
                let failure = Failure::with_code(FailureCode::OVERLOADED, StatusCode::SERVICE_UNAVAILABLE, message);
                return Box::pin(ready(Err(failure)));
            }
        };
        let reentrance = delivery.caller().chain().reentrance(&self.module);
        self.history.called();
        let event = Event {
            listener: self.number,
            history: self.history.clone(),
            delivery,
            payload,
        };
        let running = match &self.runner.instances {
            Instances::SyncPool(levels) => levels.at(reentrance).clone().run(event, counted),
            Instances::AsyncPool(levels) => levels.at(reentrance).clone().run(event, counted),
        };
        match pre.limits.deadline {
            Some(deadline) => Box::pin(within(deadline, running)),
            None => running,
        }
    }
}

/// Ends a listener that takes too long for its module.
async fn within(deadline: Duration, running: BoxFuture<'static, Result<Payload, Failure>>) -> Result<Payload, Failure> {
    timeout(deadline, running).await.unwrap_or_else(|_| {
        let crash = Crash::new(
            CrashKind::Deadline,
            format!("the listener took longer than {deadline:?}"),
        );
        Err(Failure::of_crash(crash.at_limit("deadline")))
    })
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
