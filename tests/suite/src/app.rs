//! The part that all subjects share: builds an application of the crate `pointwork` step by step.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pointwork::{App, AppOptions, ConnectOptions, ModuleOptions, ModuleStatus};
use pointwork_config::Config;
use pointwork_core::routing::{MethodFilter, Pattern, TrailingSlash};
use pointwork_core::{
    BoxFuture, Context, Delivery, Error, Failure, Handler, HandlerFuture, Listener, Payload, Reporter, RouteRecord,
    Router, Staged, Transport,
};

use pointwork_test_clock::TestClock;
use pointwork_test_clock::real::until;
use pointwork_wire_tests::Adapter;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::subject::{AppSpec, Control, Limits, ModuleSettings, Refusal, Step};

/// Wraps the transport of an adapter.
pub type Wrap = fn(Arc<dyn Transport>) -> Arc<dyn Transport>;

/// A running server.
struct Serving {
    address: SocketAddr,
    /// Shuts the server down gracefully.
    stop: BoxFuture<'static, ()>,
}

/// Binds an address and serves the adapter.
async fn serve(adapter: &dyn Adapter, address: SocketAddr) -> Result<Serving, Refusal> {
    let listener = adapter.bind(address.to_string()).await;
    let listener = listener.map_err(|error| Refusal::from_error(&error))?;
    let address = listener.local_addr().map_err(|error| Refusal::from_error(&error))?;
    let (stop, stopped) = oneshot::channel::<()>();
    let signal = Box::pin(async move {
        // A dropped sender means stop as well.
        let _ = stopped.await;
    });
    let server = tokio::spawn(adapter.serve(listener, signal));
    let stop = Box::pin(async move {
        let _ = stop.send(());
        let _ = server.await;
    });
    Ok(Serving { address, stop })
}

/// Builds the application, attaches the adapter and serves it.
pub(crate) async fn start(
    adapter: Arc<dyn Adapter>,
    wrap: Option<Wrap>,
    spec: AppSpec,
) -> Result<Box<dyn Control>, Refusal> {
    let time = spec.time().cloned();
    let (steps, limits) = spec.into_parts();
    let app = App::with_options(options(&limits, time.as_ref())).map_err(|error| Refusal::from_error(&error))?;
    let transport: Arc<dyn Transport> = adapter.clone();
    let transport = wrap.map_or(transport.clone(), |wrap| wrap(transport));
    for step in steps {
        apply(&app, &transport, time.is_some(), step).await?;
    }
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let threads = time.as_ref().map(ServerThreads::start).transpose()?;
    let serving = match &threads {
        None => serve(&*adapter, address).await?,
        Some(threads) => threads.run(async move { serve(&*adapter, address).await }).await?,
    };
    Ok(Box::new(Running {
        app,
        transport,
        is_timed: time.is_some(),
        address: serving.address,
        stop: Stop(Mutex::new(serving.stop)),
        _threads: threads,
    }))
}

/// The usual options, with a compiler that compiles the module of an SDK once for all programs.
pub fn usual_options() -> AppOptions {
    let mut options = AppOptions::new();
    options.compile.worker = Some(crate::languages::compiler());
    options
}

fn options(limits: &Limits, time: Option<&TestClock>) -> AppOptions {
    let mut options = usual_options();
    options.clock = time.map(TestClock::clock).unwrap_or_default();
    // The pool reserves address space for each instance that it may hold, and as many cases run at a time as there are
    // cores, each with an application or two.
    options.max_instances = limits.max_instances.unwrap_or(100);
    if crate::languages::is_interpreted() {
        // The interpreter of Python takes a debug build half a minute, and other cases run as well.
        options.compile.time = Duration::from_secs(300);
        // Beside other cases, new instances of an interpreter take seconds.
        options.limits.probe = Duration::from_secs(60);
        options.limits.queue_wait = Duration::from_secs(10);
    }
    if let Some(deadline) = limits.deadline {
        // A clock that the case moves gives every language the time that it needs.
        let patience = if time.is_some() {
            1
        } else {
            crate::languages::patience()
        };
        options.router.deadline = Some(deadline * patience);
    }
    options.router.stream_body_limit = limits.stream_body;
    if let Some(body) = limits.body {
        options.router.body_limit = body;
    }
    if let Some(memory) = limits.body_memory {
        options.router.body_memory = memory;
    }
    if let Some(memory) = limits.memory {
        options.limits.memory = memory + crate::languages::memory();
    }
    if let Some(instances) = limits.instances {
        options.limits.instances = instances;
    }
    if let Some(queue) = limits.event_queue {
        options.bus.queue = queue;
    }
    if let Some(deadline) = limits.event_deadline {
        options.bus.deadline = deadline;
    }
    if let Some(payload) = limits.payload {
        options.bus.payload_limit = payload;
    }
    if let Some(size) = limits.component {
        options.compile.size = size;
    }
    if limits.ignore_trailing_slash {
        options.router.table = options.router.table.trailing_slash(TrailingSlash::Match);
    }
    options
}

async fn apply(app: &App, transport: &Arc<dyn Transport>, is_timed: bool, step: Step) -> Result<(), Refusal> {
    let done = match step {
        Step::Load(name, component) => app.module(name).bytes(&*component).load().await.map(drop),
        Step::LoadWith(name, component, options) => {
            let options = module_options(&name, options, is_timed)?;
            let module = app.module(name).bytes(&*component).options(options);
            module.load().await.map(drop)
        }
        Step::Register(method, path, handler) => register(app, method, &path, Shared(handler)),
        Step::Listen(subscription, _) => app
            .channel(subscription.channel)
            .on_raw(&subscription.event, Shared(subscription.listener))
            .map(drop),
        Step::Swap(name, bytes) => app.module(name).bytes(&*bytes).swap().await.map(drop),
        Step::SwapWith(name, bytes, options) => {
            let options = module_options(&name, options, is_timed)?;
            let module = app.module(name).bytes(&*bytes).options(options);
            module.swap().await.map(drop)
        }
        Step::RollBack(name) => app.roll_back(&name).await.map(drop),
        Step::Remove(name) => app.remove(&name).await.map(drop),
        Step::Prefix(prefix) => app.set_global_prefix(&prefix).map(drop),
        Step::Attach(prefix) => {
            let options = prefix.into_iter().fold(ConnectOptions::new(), ConnectOptions::prefix);
            app.connect_to(Shared(transport.clone()), options).map(drop)
        }
    };
    done.map_err(|error| Refusal::from_error(&error))
}

/// The options with their grants and variables.
fn module_options(name: &str, settings: ModuleSettings, is_timed: bool) -> Result<ModuleOptions, Refusal> {
    let ModuleSettings {
        mut options,
        grant,
        variables,
    } = settings;
    if let Some(limits) = &mut options.limits {
        limits.memory += crate::languages::memory();
        // A clock that the case moves gives every language the time that it needs.
        if !is_timed {
            let patience = crate::languages::patience();
            limits.queue_wait = crate::languages::queue_wait(limits.queue_wait);
            limits.deadline = limits.deadline.map(|deadline| deadline * patience);
        }
    }
    if grant.is_null() && variables.is_null() {
        return Ok(options);
    }
    let json = json!({ "grant": grant, "variables": variables }).to_string();
    let read = Config::default().module_from_json(name, &json);
    let read = read.map_err(|error| Refusal::from_error(&error))?;
    Ok(options.grants(read.grants).variables(read.variables))
}

/// Registers a handler through the method's own function, if there is one.
fn register(
    app: &App,
    method: Option<&'static str>,
    path: &str,
    handler: Shared<dyn Handler>,
) -> Result<(), pointwork::Error> {
    let done = match method {
        None => app.all(path, handler),
        Some("GET") => app.get(path, handler),
        Some("POST") => app.post(path, handler),
        Some("PUT") => app.put(path, handler),
        Some("PATCH") => app.patch(path, handler),
        Some("DELETE") => app.delete(path, handler),
        Some("HEAD") => app.head(path, handler),
        Some("OPTIONS") => app.options(path, handler),
        Some("TRACE") => app.trace(path, handler),
        Some("CONNECT") => app.connect(path, handler),
        Some("PURGE") => app.purge(path, handler),
        Some("SEARCH") => app.search(path, handler),
        Some("PROPFIND") => app.propfind(path, handler),
        Some("PROPPATCH") => app.proppatch(path, handler),
        Some("MKCOL") => app.mkcol(path, handler),
        Some("COPY") => app.copy(path, handler),
        Some("MOVE") => app.r#move(path, handler),
        Some("LOCK") => app.lock(path, handler),
        Some("UNLOCK") => app.unlock(path, handler),
        Some("ACL") => app.acl(path, handler),
        Some("REPORT") => app.report(path, handler),
        Some(other) => app.register_route(other, path, handler),
    };
    done.map(drop)
}

/// The threads of the server of an application that follows a clock of a case. The clock knows these threads, and none of the case.
struct ServerThreads(Option<Runtime>);

impl ServerThreads {
    fn start(time: &TestClock) -> Result<Self, Refusal> {
        let time = time.clone();
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(2).enable_all();
        let runtime = builder.on_thread_start(move || time.register_thread()).build();
        let runtime = runtime.map_err(|error| Refusal::from_error(&error))?;
        Ok(Self(Some(runtime)))
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
    ) -> Result<T, Refusal> {
        let runtime = self.0.as_ref().expect("the threads run until they are dropped");
        runtime.spawn(work).await.map_err(|error| Refusal::from_error(&error))?
    }
}

impl Drop for ServerThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

struct Running {
    app: App,
    transport: Arc<dyn Transport>,
    is_timed: bool,
    address: SocketAddr,
    stop: Stop,
    _threads: Option<ServerThreads>,
}

/// A future that is only ever taken out as a whole; the mutex makes it `Sync`.
struct Stop(Mutex<BoxFuture<'static, ()>>);

impl Control for Running {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn apply(&self, step: Step) -> BoxFuture<'_, Result<(), Refusal>> {
        Box::pin(apply(&self.app, &self.transport, self.is_timed, step))
    }

    fn routes(&self) -> Vec<RouteRecord> {
        self.app.routes()
    }

    fn route_count(&self) -> usize {
        self.app.settings().route_count
    }

    fn events_refused(&self) -> u64 {
        self.app.bus().refused()
    }

    fn statuses(&self) -> Vec<ModuleStatus> {
        self.app.statuses()
    }

    fn requests_in_flight(&self) -> usize {
        self.app.requests_in_flight()
    }

    fn shutdown(self: Box<Self>) -> BoxFuture<'static, ()> {
        let Self {
            app, stop, _threads, ..
        } = *self;
        Box::pin(async move {
            let _threads = _threads;
            stop.0.into_inner().unwrap_or_else(PoisonError::into_inner).await;
            let is_done = until("every event is delivered", || app.bus().waiting() == 0).await;
            is_done.expect("the application ends");
        })
    }
}

/// Passes a shared value where the application takes an owned one.
struct Shared<T: ?Sized>(Arc<T>);

impl Handler for Shared<dyn Handler> {
    fn call(&self, context: Context) -> HandlerFuture {
        self.0.call(context)
    }
}

impl Listener for Shared<dyn Listener> {
    fn deliver(&self, delivery: Delivery, payload: Payload) -> BoxFuture<'static, Result<Payload, Failure>> {
        self.0.deliver(delivery, payload)
    }
}

impl Transport for Shared<dyn Transport> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn attach(&self, reporter: Reporter, prefix: Pattern) -> Result<(), Error> {
        self.0.attach(reporter, prefix)
    }

    fn covers_path(&self, pattern: &Pattern) -> bool {
        self.0.covers_path(pattern)
    }

    fn close(&self) {
        self.0.close();
    }

    fn supports_method(&self, method: &MethodFilter) -> bool {
        self.0.supports_method(method)
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        self.0.stage(router)
    }
}
