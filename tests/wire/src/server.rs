//! The server under test.

use std::net::SocketAddr;
use std::sync::Arc;

use pointwork_core::{Route, RouterOptions, ServerOptions};
use pointwork_test_clock::TestClock;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::adapters::{Adapter, On};
use crate::probe::{Probe, normal, within};
use crate::routes::{RouteGate, gated, publish_on, routes};

/// A server on a free local port, with a shutdown signal.
pub struct Server {
    /// The address of the server.
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    /// The task that serves; aborting it drops the adapter's future.
    pub serving: JoinHandle<()>,
}

impl Server {
    /// Serves an adapter.
    ///
    /// # Panics
    /// If no port is free.
    pub async fn start(adapter: Arc<dyn Adapter>) -> Self {
        let listener = adapter.bind("127.0.0.1:0".to_owned()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let signal = Box::pin(async {
            let _ = stopped.await;
        });
        Self {
            address,
            stop: Some(stop),
            serving: tokio::spawn(adapter.serve(listener, signal)),
        }
    }

    /// Serves these routes.
    pub async fn with(on: On, options: ServerOptions, routes: Vec<Route>) -> Self {
        Self::open(on, options, routes, RouterOptions::new()).await
    }

    /// Serves these routes on a clock that the case moves.
    pub async fn timed(on: On, options: ServerOptions, routes: Vec<Route>) -> (Self, TestClock) {
        let time = TestClock::new();
        let server = Self::with(on, options.clock(time.clock()), routes).await;
        (server, time)
    }

    /// Serves the usual routes and `/gated` on a clock that the case moves.
    pub async fn with_gate(on: On) -> (Self, TestClock, RouteGate) {
        let (gated, gate) = gated();
        let (server, time) = Self::timed(on, ServerOptions::new(), [routes(), vec![gated]].concat()).await;
        (server, time, gate)
    }

    /// Serves these routes with another limit for bodies, in bytes.
    pub(crate) async fn limited(on: On, options: ServerOptions, routes: Vec<Route>, body_limit: u64) -> Self {
        let router = RouterOptions::new().body_limit(body_limit);
        Self::open(on, options, routes, router).await
    }

    async fn open(on: On, options: ServerOptions, routes: Vec<Route>, router: RouterOptions) -> Self {
        let clock = options.clock.clone();
        let adapter = (on.open)(options);
        publish_on(&*adapter, routes, router, clock);
        Self::start(adapter).await
    }

    /// Serves the [usual routes](routes) with the default options.
    pub async fn plain(on: On) -> Self {
        Self::with(on, ServerOptions::new(), routes()).await
    }

    /// Serves the usual routes and one more.
    pub async fn and(on: On, route: Route) -> Self {
        let mut all = routes();
        all.push(route);
        Self::with(on, ServerOptions::new(), all).await
    }

    /// Opens a new connection.
    pub async fn client(&self) -> Probe {
        Probe::connect(self.address).await
    }

    /// Sends these bytes, and returns all bytes until the connection closes. The connection has to close without a
    /// reset.
    ///
    /// # Panics
    /// If the connection does not close gracefully.
    pub(crate) async fn raw(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut client = self.client().await;
        client.send(bytes).await;
        client.rest().await.unwrap()
    }

    /// The normal form of the reply to these bytes, until the connection closes.
    ///
    /// # Panics
    /// As [`raw`](Self::raw).
    pub(crate) async fn exchange(&self, bytes: impl AsRef<[u8]>) -> String {
        normal(&self.raw(bytes).await)
    }

    /// Sends the shutdown signal.
    pub fn signal(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Waits until the server has ended.
    ///
    /// # Panics
    /// If the server takes too long, or fails.
    pub async fn ended(self) {
        within("shutting down", self.serving).await.unwrap();
    }
}
