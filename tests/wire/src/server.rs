//! The server under test.

use std::net::SocketAddr;

use pointwork_core::{Route, ServerOptions};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::Subject;
use crate::client::{Client, normal, within};
use crate::routes::{limited, published, routes};

/// A server on a free port of this machine, with a way to shut it down.
pub struct Server {
    /// Where it listens.
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    /// The task that serves; aborting it drops the adapter's future.
    pub serving: JoinHandle<()>,
}

impl Server {
    /// Serves an adapter.
    ///
    /// # Panics
    /// If it gets no port.
    pub async fn start<S: Subject>(adapter: &S::Adapter) -> Self {
        let listener = S::bind(adapter, "127.0.0.1:0".to_owned()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let signal = Box::pin(async {
            let _ = stopped.await;
        });
        Self {
            address,
            stop: Some(stop),
            serving: tokio::spawn(S::serve(adapter, listener, signal)),
        }
    }

    /// Serves these routes.
    pub async fn with<S: Subject>(options: ServerOptions, routes: Vec<Route>) -> Self {
        Self::start::<S>(&published::<S>(options, routes)).await
    }

    /// Serves these routes with another limit for bodies, in bytes.
    pub(crate) async fn limited<S: Subject>(options: ServerOptions, routes: Vec<Route>, body_limit: u64) -> Self {
        Self::start::<S>(&limited::<S>(options, routes, body_limit)).await
    }

    /// Serves the [usual routes](routes) with the default options.
    pub async fn plain<S: Subject>() -> Self {
        Self::with::<S>(ServerOptions::default(), routes()).await
    }

    /// Serves the usual routes and one more.
    pub async fn and<S: Subject>(route: Route) -> Self {
        let mut all = routes();
        all.push(route);
        Self::with::<S>(ServerOptions::default(), all).await
    }

    /// A new connection.
    pub async fn client(&self) -> Client {
        Client::connect(self.address).await
    }

    /// What comes back for these bytes until the connection closes, which must be no reset. Whatever they are, they must
    /// be the end of the connection.
    ///
    /// # Panics
    /// If the connection does not close in good order.
    pub(crate) async fn raw(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut client = self.client().await;
        client.send(bytes).await;
        client.rest().await.unwrap()
    }

    /// The normal form of what comes back for these bytes until the connection closes.
    ///
    /// # Panics
    /// As [`raw`](Self::raw).
    pub(crate) async fn exchange(&self, bytes: impl AsRef<[u8]>) -> String {
        normal(&self.raw(bytes).await)
    }

    /// Tells the server to shut down.
    pub fn signal(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }

    /// Waits until the server has ended.
    ///
    /// # Panics
    /// If that takes long, or fails.
    pub async fn ended(self) {
        within("shutting down", self.serving).await.unwrap();
    }
}
