//! The adapter: its handle, and the ways to serve it.

use std::convert::Infallible;
use std::future::{Future, ready};
use std::sync::Arc;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::Route;
use futures_util::FutureExt as _;
use hyper::body::Incoming;
use pointwork_core::adapter::{AdapterState, not_ready};
use pointwork_core::{Error, Router, Serving, Staged, adapter_handle};
use tokio::net::TcpListener;
use tower::util::service_fn;
use tower::{Layer, Service};

use crate::{reply, table};

/// Adapter A: serves an application's routes on axum (spec A2).
///
/// A handle that is cheap to clone; all clones are one adapter. Give one to the application, which publishes its routes
/// through it, and keep one to [`serve`](Self::serve) with. Until the first routes are published every request gets 503.
#[derive(Clone)]
pub struct Axum {
    state: Arc<AdapterState<axum::Router>>,
    /// From the innermost to the outermost.
    layers: Vec<AddLayer>,
}

/// Puts one layer around a table.
type AddLayer = Arc<dyn Fn(axum::Router) -> axum::Router + Send + Sync>;

adapter_handle! {
    Axum { name: "axum", layers: Vec::new() }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        let table = table::table(router, self.state.options().body_timeout);
        Ok(self.state.stage(self.layers.iter().fold(table, |table, add| add(table))))
    }
}

impl Axum {
    /// The adapter with a layer inside its tables, where axum has matched the request already.
    ///
    /// It takes the same types as [`axum::Router::layer`]. The layer stands around every request, those that get 404 or 405
    /// too; a layer that is added later stands further out. It finds the pattern of the request's path in its
    /// [`MatchedPath`](axum::extract::MatchedPath), see the [crate's docs](crate#the-matched-path). Until the first routes
    /// are published no layer runs.
    ///
    /// It returns *another* adapter: add the layers first, then give the adapter to the application. An earlier clone
    /// shares no routes with it.
    ///
    /// ```
    /// use axum::extract::{MatchedPath, Request};
    /// use axum::middleware::{Next, from_fn};
    /// use pointwork_axum::Axum;
    ///
    /// let axum = Axum::new().layer(from_fn(async |matched: Option<MatchedPath>, request: Request, next: Next| {
    ///     let reply = next.run(request).await;
    ///     let pattern = matched.as_ref().map_or("none", MatchedPath::as_str);
    ///     println!("{} for {pattern}", reply.status());
    ///     reply
    /// }));
    /// // app.connect_to(axum.clone(), …)
    /// # drop(axum);
    /// ```
    #[must_use]
    pub fn layer<L>(mut self, layer: L) -> Self
    where
        L: Layer<Route> + Clone + Send + Sync + 'static,
        L::Service: Service<Request, Response: IntoResponse + 'static, Error: Into<Infallible> + 'static, Future: Send>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        self.layers.push(Arc::new(move |table| table.layer(layer.clone())));
        self.state = AdapterState::new(self.state.name(), self.state.options().clone());
        self
    }

    /// Serves a listener until the end of the process, or [until a signal](Serving::with_graceful_shutdown).
    pub fn serve(&self, listener: TcpListener) -> Serving {
        let state = self.state.clone();
        let service = hyper::service::service_fn(move |request: http::Request<Incoming>| {
            respond(&state, request.map(axum::body::Body::new))
        });
        pointwork_server::serve(&self.state, listener, service)
    }

    /// The adapter as a router of axum's, to be merged into an application that already exists, with its middleware around
    /// it (spec A9).
    ///
    /// It answers every request that reaches it, as the fallback: [merge](axum::Router::merge) it beside your own routes,
    /// which then come first. It sees later tables as they are published. An application can have one fallback only.
    ///
    /// [Nesting](axum::Router::nest) it takes the prefix off the path, and the routes match the rest: they must not have the
    /// prefix as well, or the path doubles (spec G6). [`Extensions`](pointwork_core::Extensions) that a layer puts into the
    /// request's extensions reach the context. Call it within a tokio runtime with time enabled.
    ///
    /// A layer around it runs before axum matches a path of the table. It finds the
    /// [`MatchedPath`](axum::extract::MatchedPath) afterwards, in the extensions of the reply, see the
    /// [crate's docs](crate#the-matched-path); give a layer that needs it earlier to [`layer`](Self::layer).
    pub fn router(&self) -> axum::Router {
        let state = self.state.clone();
        axum::Router::new().fallback_service(service_fn(move |request| respond(&state, request)))
    }
}

/// Answers one request on the table of this moment, which it keeps until the request ends (spec S1).
fn respond(
    state: &AdapterState<axum::Router>,
    request: Request,
) -> impl Future<Output = Result<Response, Infallible>> + Send + use<> {
    match state.load() {
        Some(table) => axum::Router::clone(&table).call(request).left_future(),
        None => ready(Ok(reply::convert(not_ready(request.method())))).right_future(),
    }
}
