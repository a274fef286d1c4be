//! The server under test.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pointwork_actix::Actix;
use pointwork_core::routing::{MethodFilter, Pattern};
use pointwork_core::{
    BoxFuture, Bus, BusOptions, Context, Delivery, Executor, Failure, Handler, IntoReply, Origin, Payload, Route,
    RouteRecord, Router, RouterOptions, ServerOptions, Subscription, Transport,
};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::{Client, within};

struct OnTokio;

impl Executor for OnTokio {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        tokio::spawn(future);
    }

    fn sleep_until(&self, instant: Instant) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep_until(instant.into()))
    }
}

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

/// What nearly every test needs.
pub fn routes() -> Vec<Route> {
    vec![
        route("GET", "/hello", async |_: Context| "hello"),
        route("GET", "/echo/:id", async |context: Context| {
            context.param("id").unwrap_or("?").to_owned()
        }),
        route("GET", "/seen/*rest", async |context: Context| {
            format!("{} {:?}", context.path(), context.query())
        }),
        route("POST", "/body", async |context: Context| {
            context.bytes().await.map(|bytes| format!("{} bytes", bytes.len()))
        }),
        route("POST", "/unread", async |_: Context| "not read"),
        route("GET", "/slow", async |_: Context| {
            tokio::time::sleep(Duration::from_millis(400)).await;
            "slow"
        }),
        route("GET", "/forever", async |_: Context| {
            std::future::pending::<&str>().await
        }),
    ]
}

pub fn executor() -> Arc<dyn Executor> {
    Arc::new(OnTokio)
}

pub fn bus() -> Bus {
    Bus::new(executor(), BusOptions::default())
}

pub fn publish(actix: &Actix, routes: Vec<Route>, options: RouterOptions) {
    let bus = bus();
    let reporter = bus.reporter(actix.name());
    let router = Router::new(routes, options, bus, executor()).unwrap();
    let staged = actix.stage(Arc::new(router.for_adapter(reporter))).unwrap();
    staged.publish();
}

pub fn published(options: ServerOptions, routes: Vec<Route>) -> Actix {
    let actix = Actix::with_options(options);
    publish(&actix, routes, RouterOptions::default());
    actix
}

/// The messages of all `server:crashed` of a bus.
pub fn crashes(bus: &Bus) -> Arc<Mutex<Vec<serde_json::Value>>> {
    let seen = Arc::<Mutex<Vec<serde_json::Value>>>::default();
    let listener = {
        let seen = seen.clone();
        move |_: Delivery, payload: Payload| {
            let crash = serde_json::from_slice(payload.data()).unwrap();
            seen.lock().unwrap().push(crash);
            async { Ok::<_, Failure>(Payload::new("", "")) }
        }
    };
    bus.subscribe([Subscription {
        channel: "server".to_owned(),
        event: "crashed".to_owned(),
        module: None,
        listener: Arc::new(listener),
    }])
    .unwrap();
    seen
}

/// A server on a free port, with a way to shut it down.
pub struct Subject {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    pub serving: JoinHandle<()>,
}

impl Subject {
    pub async fn start(actix: &Actix) -> Self {
        let listener = actix.bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let serving = actix.serve(listener).with_graceful_shutdown(async {
            let _ = stopped.await;
        });
        Self {
            address,
            stop: Some(stop),
            serving: tokio::spawn(serving),
        }
    }

    pub async fn with(options: ServerOptions, routes: Vec<Route>) -> Self {
        Self::start(&published(options, routes)).await
    }

    /// With another limit for bodies, in bytes.
    pub async fn limited(options: ServerOptions, routes: Vec<Route>, body_limit: u64) -> Self {
        let actix = Actix::with_options(options);
        let mut options = RouterOptions::default();
        options.body_limit = body_limit;
        publish(&actix, routes, options);
        Self::start(&actix).await
    }

    pub async fn plain() -> Self {
        Self::with(ServerOptions::default(), routes()).await
    }

    pub async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    pub fn signal(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    pub async fn ended(self) {
        within("shutting down", self.serving).await.unwrap();
    }
}
