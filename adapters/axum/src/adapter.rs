//! The adapter itself: the published table, and the ways to serve it.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, ready};
use std::sync::Arc;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::routing::Route;
use futures_util::FutureExt as _;
use hyper::body::Incoming;
use pointwork_core::{Error, Published, Reporter, Router, ServerOptions, Serving, Staged, Transport};
use tokio::net::TcpListener;
use tower::util::service_fn;
use tower::{Layer, Service};

use crate::{reply, table};

const NAME: &str = "axum";

/// Adapter A: serves an application's routes on axum (spec A2).
///
/// A handle that is cheap to clone; all clones are one adapter. Give one to the application, which publishes its routes
/// through it, and keep one to [`serve`](Self::serve) with. Until the first routes are published every request gets 503.
#[derive(Clone)]
pub struct Axum(Arc<Inner>);

struct Inner {
    options: ServerOptions,
    /// From the innermost to the outermost.
    layers: Vec<Around>,
    published: Arc<Published<axum::Router>>,
}

/// Puts one layer around a table.
type Around = Arc<dyn Fn(axum::Router) -> axum::Router + Send + Sync>;

impl Axum {
    /// An adapter with the default options.
    pub fn new() -> Self {
        Self::with_options(ServerOptions::default())
    }

    /// An adapter with these options.
    pub fn with_options(options: ServerOptions) -> Self {
        Self::with(options.clamped(), Vec::new())
    }

    fn with(options: ServerOptions, layers: Vec<Around>) -> Self {
        Self(Arc::new(Inner {
            options,
            layers,
            published: Arc::new(Published::new(NAME)),
        }))
    }

    /// The adapter with a layer inside its tables, where axum has matched the request already.
    ///
    /// It is given what [`axum::Router::layer`] takes, and stands around every request, those that get 404 or 405 too;
    /// what is added later stands further out. It finds the pattern of the request's path in its
    /// [`MatchedPath`](axum::extract::MatchedPath), as the [crate's docs](crate#the-matched-path) tell. Until the first
    /// routes are published no layer runs.
    ///
    /// It returns *another* adapter: add the layers first, then give the adapter to the application. A clone that was made
    /// before shares no routes with it.
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
    pub fn layer<L>(self, layer: L) -> Self
    where
        L: Layer<Route> + Clone + Send + Sync + 'static,
        L::Service: Service<Request, Response: IntoResponse + 'static, Error: Into<Infallible> + 'static, Future: Send>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        let mut layers = self.0.layers.clone();
        layers.push(Arc::new(move |table| table.layer(layer.clone())));
        Self::with(self.0.options.clone(), layers)
    }

    /// Opens a listener, for example on `127.0.0.1:8080`; port 0 picks a free one.
    ///
    /// # Errors
    /// [`Adapter`](pointwork_core::ErrorKind::Adapter), naming the address and what to do, if it is taken or cannot be
    /// had. The failure is emitted as `server:crashed` too (spec E1), provided that the adapter is attached.
    pub async fn bind(&self, address: impl tokio::net::ToSocketAddrs + fmt::Display) -> Result<TcpListener, Error> {
        let name = address.to_string();
        let bound = TcpListener::bind(address).await;
        bound.map_err(|cause| self.0.published.bind_failed(&name, cause))
    }

    /// Serves a listener until the end of the process, or [until a signal](Serving::with_graceful_shutdown).
    pub fn serve(&self, listener: TcpListener) -> Serving {
        let Inner { options, published, .. } = &*self.0;
        let table = published.clone();
        let service = hyper::service::service_fn(move |request: http::Request<Incoming>| {
            respond(&table, request.map(axum::body::Body::new))
        });
        pointwork_server::serve(NAME, listener, options, published.clone(), service)
    }

    /// The adapter as a router of axum's, to be merged into an application that already exists, with its middleware around
    /// it (spec A9).
    ///
    /// It answers every request that reaches it, as the fallback: [merge](axum::Router::merge) it beside your own routes,
    /// which then come first. It sees later tables as they are published. An application can have one fallback only.
    ///
    /// [Nesting](axum::Router::nest) it takes the prefix off the path, and the routes match what is left: they must
    /// not have the prefix as well, or the path doubles (spec G6). What a layer put into the request's extensions as
    /// [`Extensions`](pointwork_core::Extensions) is the context's. Call it within a tokio runtime with time enabled.
    ///
    /// A layer around it runs before axum matches a path of the table. It finds the
    /// [`MatchedPath`](axum::extract::MatchedPath) afterwards, in the extensions of the reply, as the
    /// [crate's docs](crate#the-matched-path) tell; a layer that needs it earlier is given to [`layer`](Self::layer).
    pub fn router(&self) -> axum::Router {
        let table = self.0.published.clone();
        axum::Router::new().fallback_service(service_fn(move |request| respond(&table, request)))
    }
}

/// Answers one request on the table of this moment, which it keeps until the request ends (spec S1).
fn respond(
    published: &Published<axum::Router>,
    request: Request,
) -> impl Future<Output = Result<Response, Infallible>> + Send + use<> {
    match published.load() {
        Some(table) => axum::Router::clone(&table).call(request).left_future(),
        None => ready(Ok(reply::convert(Published::<axum::Router>::not_ready(
            request.method(),
        ))))
        .right_future(),
    }
}

impl Default for Axum {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Axum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Axum")
            .field("options", &self.0.options)
            .field("published", &self.0.published)
            .finish()
    }
}

impl Transport for Axum {
    fn name(&self) -> &'static str {
        NAME
    }

    fn attach(&self, reporter: Reporter) {
        self.0.published.attach(reporter);
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        let table = table::table(router, self.0.options.body_timeout);
        let layered = self.0.layers.iter().fold(table, |table, around| around(table));
        Ok(self.0.published.stage(layered))
    }
}
