//! Routes of native handlers, and functions that publish them on an adapter.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use http::Response;
use pointwork_core::routing::{MethodFilter, Pattern};
use pointwork_core::{
    BodyMode, BoxFuture, Bus, BusOptions, Clock, Context, Executor, Failure, Handler, HandlerFuture, IntoReply, Origin,
    RequestLimits, Route, RouteRecord, Router, RouterOptions, Transport,
};
use pointwork_test_clock::TestClock;
use tokio::sync::Notify;

use crate::probe::within;

struct OnTokio(Clock);

impl Executor for OnTokio {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        tokio::spawn(future);
    }

    fn clock(&self) -> &Clock {
        &self.0
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the timers of the real clock are those of the executor"
    )]
    fn sleep_until(&self, instant: Instant) -> BoxFuture<'static, ()> {
        match self.0.sleep_until(instant) {
            Some(sleep) => sleep,
            None => Box::pin(tokio::time::sleep_until(instant.into())),
        }
    }
}

/// A route for a method, or for `ALL`.
///
/// # Panics
/// If the method or the path is invalid.
pub fn route<F, Fut>(method: &str, path: &str, handler: F) -> Route
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoReply> + Send + 'static,
{
    let handler: Arc<dyn Handler> = Arc::new(handler);
    let method = (method != "ALL").then_some(method);
    let pattern = Pattern::parse(path).unwrap();
    Route {
        filter: MethodFilter::parse(method).unwrap(),
        record: Arc::new(RouteRecord {
            method: method.unwrap_or("ALL").to_owned(),
            path: pattern.as_str().to_owned(),
            origin: Origin::Manual,
            module: None,
            controller: None,
            handler: None,
            unavailable_on: Vec::new(),
        }),
        pattern,
        handler,
    }
}

/// A route whose handler takes the body in this way.
///
/// # Panics
/// If the method or the path is invalid.
pub fn route_with<F, Fut>(mode: BodyMode, method: &str, path: &str, handler: F) -> Route
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoReply> + Send + 'static,
{
    struct WithMode<F>(BodyMode, F);
    impl<F: Handler> Handler for WithMode<F> {
        fn call(&self, context: Context) -> HandlerFuture {
            self.1.call(context)
        }

        fn limits(&self) -> RequestLimits {
            let mut limits = RequestLimits::default();
            limits.body_mode = self.0;
            limits
        }
    }
    let mut route = route(method, path, async |_: Context| ());
    route.handler = Arc::new(WithMode(mode, handler));
    route
}

/// The routes that nearly every case uses.
pub fn routes() -> Vec<Route> {
    vec![
        route("GET", "/hello", async |_: Context| "hello"),
        route("GET", "/echo/:id", async |context: Context| {
            context.param("id").unwrap_or("?").to_owned()
        }),
        route("GET", "/seen/*rest", async |context: Context| {
            format!("{} {:?}", context.path(), context.query())
        }),
        route("POST", "/body", length),
        route_with(BodyMode::Whole, "POST", "/whole", length),
        route("POST", "/unread", async |_: Context| "not read"),
        route_with(BodyMode::None, "POST", "/bodiless", async |_: Context| "not read"),
        route("GET", "/forever", async |_: Context| {
            std::future::pending::<&str>().await
        }),
    ]
}

/// The gate of a handler: the handler waits at the gate until the case opens the gate.
#[derive(Clone, Debug, Default)]
pub struct RouteGate {
    arrived: Arc<Notify>,
    opened: Arc<Notify>,
}

impl RouteGate {
    /// Waits until the handler has begun.
    pub async fn arrived(&self) {
        within("the handler's begin", self.arrived.notified()).await;
    }

    /// Lets one call of the handler pass when the server rests: it has read the bytes that the client has sent.
    pub async fn open_at_rest(&self, time: &TestClock) {
        self.arrived().await;
        time.settle().await;
        self.open();
    }

    /// Lets one call of the handler pass.
    pub fn open(&self) {
        self.opened.notify_one();
    }

    /// Tells the case of the call, and waits until the case lets the call pass.
    pub async fn pass(&self) {
        self.arrived.notify_one();
        self.opened.notified().await;
    }
}

/// A route at `/gated` that replies `gated` once the case opens the gate.
pub fn gated() -> (Route, RouteGate) {
    let gate = RouteGate::default();
    let passes = gate.clone();
    let handler = move |_: Context| {
        let gate = passes.clone();
        async move {
            gate.pass().await;
            "gated"
        }
    };
    (route("GET", "/gated", handler), gate)
}

/// A route at `/streamed` whose reply breaks off after `one`, once the case opens the gate.
pub fn broken_off() -> (Route, RouteGate) {
    let gate = RouteGate::default();
    let passes = gate.clone();
    let streamed = move |context: Context| {
        let gate = passes.clone();
        async move {
            let mut writer = context.open_reply(Response::new(())).unwrap();
            writer.write("one").await.unwrap();
            gate.pass().await;
            drop(writer);
        }
    };
    (route("GET", "/streamed", streamed), gate)
}

/// A route at `/client` that replies with the scheme and the client's address.
pub fn client_route() -> Route {
    route("GET", "/client", async |context: Context| {
        format!("{} {}", context.scheme(), context.remote_address().unwrap_or_default())
    })
}

async fn length(context: Context) -> Result<String, Failure> {
    let bytes = context.bytes().await?;
    Ok(format!("{} bytes", bytes.len()))
}

/// A route at `/observed` that reads its body and never answers. It notifies when its handler began, and when the
/// handler was dropped.
pub fn observed(method: &str) -> (Route, Arc<Notify>, Arc<Notify>) {
    struct OnDrop(Arc<Notify>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (began, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = {
        let (began, dropped) = (began.clone(), dropped.clone());
        move |context: Context| {
            let (began, dropped) = (began.clone(), OnDrop(dropped.clone()));
            async move {
                began.notify_one();
                context.bytes().await?;
                std::future::pending::<()>().await;
                drop(dropped);
                Ok::<_, Failure>(())
            }
        }
    };
    (route(method, "/observed", handler), began, dropped)
}

/// An executor on the current tokio runtime.
pub(crate) fn executor() -> Arc<dyn Executor> {
    Arc::new(OnTokio(Clock::real()))
}

/// A new bus.
pub(crate) fn bus() -> Bus {
    Bus::new(executor(), BusOptions::new())
}

/// Publishes a table through an adapter.
///
/// # Panics
/// If the core or the adapter refuses the table.
pub fn publish(adapter: &(impl Transport + ?Sized), routes: Vec<Route>, options: RouterOptions) {
    publish_on(adapter, routes, options, Clock::real());
}

/// Publishes a table whose requests follow a clock.
///
/// # Panics
/// As [`publish`].
pub(crate) fn publish_on(
    adapter: &(impl Transport + ?Sized),
    routes: Vec<Route>,
    options: RouterOptions,
    clock: Clock,
) {
    let executor: Arc<dyn Executor> = Arc::new(OnTokio(clock));
    let bus = Bus::new(executor.clone(), BusOptions::new());
    let router = Router::new(routes, options, bus, executor).unwrap();
    let staged = adapter.stage(Arc::new(router.for_adapter(adapter.name()))).unwrap();
    staged.publish();
}

/// An adapter with these routes.
pub fn published<A: Transport>(adapter: A, routes: Vec<Route>) -> A {
    publish(&adapter, routes, RouterOptions::new());
    adapter
}

/// An adapter that is connected with this prefix, with these routes.
///
/// # Panics
/// If the prefix is not a path, or if the adapter was connected before.
pub fn connected<A: Transport>(adapter: A, prefix: &str, routes: Vec<Route>) -> A {
    let prefix = Pattern::parse(prefix).unwrap();
    adapter.attach(bus().reporter(adapter.name()), prefix).unwrap();
    published(adapter, routes)
}
