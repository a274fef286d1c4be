//! The adapter: its handle, and the ways to serve it.

use std::convert::Infallible;
use std::future::{Future, Ready, ready};
use std::sync::Arc;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::Route;
use futures_util::FutureExt as _;
use hyper::body::Incoming;
use pointwork_core::adapter::AdapterState;
use pointwork_core::{Error, ErrorKind, Router, Serving, Staged, adapter_handle};
use tokio::net::TcpListener;
use tower::util::service_fn;
use tower::{Layer, Service};

use crate::layer::AxumLayer;
use crate::{syntax, table};

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
        let options = self.state.options();
        let table = table::table(&router.with_timeouts(options.body_timeout, options.write_timeout));
        Ok(self.state.stage(&router, self.layers.iter().fold(table, |table, add| add(table))))
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

    /// The user's application with the adapter in front of it (spec A9). A request is the adapter's only if a route matches its
    /// path and method, HEAD by GET included; everything else goes on untouched, its body unread: to the user's routes,
    /// their layers, their fallback.
    ///
    /// It takes the user's router when it is finished, with its routes, fallback, layers and state. The result takes further
    /// layers, which stand around both. But *a route that is added to the result comes before the adapter's, and a fallback
    /// that is added, or merged, takes the place of the adapter and the whole application* (spec A10).
    ///
    /// It sees later tables as they are published. Before the first one, and after the application was closed, everything
    /// goes on to the user's routes.
    ///
    /// The layers [given to the adapter](Self::layer) run for the requests that the adapter answers. They cannot change the
    /// route: it is found before they run. [`Extensions`](pointwork_core::Extensions) that a layer around the result puts
    /// into the request's extensions reach the context. Call it within a tokio runtime with time enabled.
    ///
    /// ```
    /// use axum::Router;
    /// use axum::routing::get;
    /// use pointwork_axum::Axum;
    ///
    /// let axum = Axum::new();
    /// // app.connect_to(axum.clone(), …)
    /// let own: Router = Router::new()
    ///     .route("/own", get(async || "my own"))
    ///     .fallback(async || "my fallback");
    /// let app = axum.in_front_of(own);
    /// // .layer(…), then axum::serve(listener, app)
    /// # drop(app);
    /// ```
    pub fn in_front_of(&self, router: axum::Router) -> axum::Router {
        axum::Router::new().fallback_service(self.in_front().layer(router))
    }

    /// The adapter as a tower layer, for a service other than a router of axum, or as a layer of the user's router; otherwise
    /// as [`in_front_of`](Self::in_front_of).
    ///
    /// As a layer of the router, the adapter stands behind axum's own match. So layers further out, such as `TraceLayer` or an
    /// exporter for Prometheus, find the [`MatchedPath`](axum::extract::MatchedPath) of the *user's* routes in the request, which
    /// [`in_front_of`](Self::in_front_of) hides from them. Add it to the outermost router, *after its last route and after its
    /// fallback*: axum puts a layer around what is there, and what is added later does not reach the adapter.
    ///
    /// - A request of the adapter's has the path of a user's route where one matches too, and none elsewhere. Its own path is in
    ///   the extensions of the reply.
    /// - Where a route of the user's has the same path, axum adds that route's `Allow` to a reply of the adapter's without one.
    ///
    /// ```
    /// use axum::Router;
    /// use axum::extract::{MatchedPath, Request};
    /// use axum::middleware::{Next, from_fn};
    /// use axum::routing::get;
    /// use pointwork_axum::Axum;
    ///
    /// let axum = Axum::new();
    /// // app.connect_to(axum.clone(), …)
    /// let app: Router = Router::new()
    ///     .route("/users/{id}", get(async || "my own"))
    ///     .fallback(async || "my fallback")
    ///     .layer(axum.in_front())
    ///     .layer(from_fn(async |matched: Option<MatchedPath>, request: Request, next: Next| {
    ///         println!("{matched:?}");
    ///         next.run(request).await
    ///     }));
    /// # drop(app);
    /// ```
    pub fn in_front(&self) -> AxumLayer {
        AxumLayer(self.state.clone())
    }

    /// The adapter as a router of axum's that answers everything below the prefix of its connection, with 404, 405 and 503
    /// too (spec A9). [Merge](axum::Router::merge) it into the user's application, beside the user's own routes and fallback.
    ///
    /// It has path routes for the prefix and everything below it, and no fallback. So it can be merged at any place, before
    /// or after the user's fallback is set; a route of the user's below the prefix comes first where it is more specific,
    /// such as `/api/own`; and axum panics where one has the same path, such as `/api/{*rest}`. Without a prefix it answers
    /// everything that no route of the user's takes. Routes that are not below the prefix are warned of and shown as
    /// unavailable (spec A10).
    ///
    /// [Nesting](axum::Router::nest) takes its path off the target, and the routes match the rest: nested at `/api` *with
    /// the prefix `api` as well*, the path doubles to `/api/api/…` (spec G6). Later tables, layers and extensions are as in
    /// [`in_front_of`](Self::in_front_of).
    ///
    /// # Errors
    /// [`Adapter`](ErrorKind::Adapter) if the adapter is not connected yet, or if the prefix has 25 parameters or more, which
    /// axum cannot hold.
    ///
    /// ```
    /// use axum::Router;
    /// use axum::routing::get;
    /// use pointwork_axum::Axum;
    ///
    /// # fn mount(axum: &Axum) -> Result<Router, pointwork_core::Error> {
    /// // app.connect_to(axum.clone(), ConnectOptions::new().prefix("api"))
    /// Ok(Router::new()
    ///     .route("/own", get(async || "my own"))
    ///     .merge(axum.router()?)
    ///     .fallback(async || "my fallback"))
    /// # }
    /// # assert!(mount(&Axum::new()).is_err());
    /// ```
    pub fn router(&self) -> Result<axum::Router, Error> {
        let error = |message| Err(Error::new(ErrorKind::Adapter, message));
        let Some(prefix) = self.state.prefix() else {
            return error("the adapter `axum` is not connected, expected a connection before `router`".to_owned());
        };
        let Some(paths) = syntax::below(&prefix) else {
            return error(format!(
                "the prefix `{prefix}` has too many parameters for axum, expected at most 24"
            ));
        };
        self.state.mount_below();
        let state = self.state.clone();
        let service = service_fn(move |request: Request| match state.load() {
            Some(published) => table::call(&published.table, request).left_future(),
            None => unavailable(&state, &request).right_future(),
        });
        // A merged router checks paths as the stricter of the two does, and these need no check.
        let router = axum::Router::new().without_v07_checks();
        let add = |router: axum::Router, path: &String| router.route_service(path, service.clone());
        Ok(paths.iter().fold(router, add))
    }
}

/// Answers one request on the table of this moment, which it keeps until the request ends (spec S1).
fn respond(
    state: &AdapterState<axum::Router>,
    request: Request,
) -> impl Future<Output = Result<Response, Infallible>> + Send + use<> {
    match state.load() {
        Some(published) => published.table.clone().call(request).left_future(),
        None => unavailable(state, &request).right_future(),
    }
}

fn unavailable(state: &AdapterState<axum::Router>, request: &Request) -> Ready<Result<Response, Infallible>> {
    ready(Ok(table::converted(
        state.unavailable(request.method(), request.headers()),
    )))
}
