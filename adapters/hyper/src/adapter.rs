//! The adapter itself: the published router, and the way of a request to it.

use std::fmt;
use std::future::{Future, ready};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Request, Response};
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use pointwork_core::{Body, Error, Published, Reporter, Router, ServerOptions, Serving, Staged, Transport};
use pointwork_server::{BoxError, arriving};
use tokio::net::TcpListener;

use crate::HyperService;

const NAME: &str = "hyper";

/// Adapter E: serves an application's routes on bare hyper (spec A5).
///
/// A handle that is cheap to clone; all clones are one adapter. Give one to the application, which publishes its routes
/// through it, and keep one to [`serve`](Self::serve) with. Until the first routes are published every request gets 503.
#[derive(Clone)]
pub struct Hyper(Arc<Inner>);

pub(crate) struct Inner {
    options: ServerOptions,
    published: Arc<Published<Router>>,
}

impl Hyper {
    /// An adapter with the default options.
    pub fn new() -> Self {
        Self::with_options(ServerOptions::default())
    }

    /// An adapter with these options.
    pub fn with_options(options: ServerOptions) -> Self {
        Self(Arc::new(Inner {
            options: options.clamped(),
            published: Arc::new(Published::new(NAME)),
        }))
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
        let inner = self.0.clone();
        // Not the service for mounting, whose future has to have a name and is boxed for that.
        let service = hyper::service::service_fn(move |request: Request<Incoming>| inner.respond(request).map(Ok));
        let Inner { options, published } = &*self.0;
        pointwork_server::serve(NAME, listener, options, published.clone(), service)
    }

    /// The adapter as a service, to be mounted in a server that already exists, with its middleware around it (spec A9).
    pub fn service(&self) -> HyperService {
        HyperService::new(self.0.clone())
    }
}

impl Default for Hyper {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Hyper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hyper")
            .field("options", &self.0.options)
            .field("published", &self.0.published)
            .finish()
    }
}

impl Transport for Hyper {
    fn name(&self) -> &'static str {
        NAME
    }

    fn attach(&self, reporter: Reporter) {
        self.0.published.attach(reporter);
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        Ok(self.0.published.stage(Router::clone(&router)))
    }
}

impl Inner {
    /// Answers one request on the router of this moment, which it keeps until the request ends (spec S1).
    pub(crate) fn respond<B>(&self, request: Request<B>) -> impl Future<Output = Response<Body>> + Send + use<B>
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let Some(router) = self.published.load() else {
            return ready(Published::<Router>::not_ready(request.method())).left_future();
        };
        let request = request.map(|body| arriving(body).within(self.options.body_timeout, router.executor()));
        router.respond(None, request).right_future()
    }
}
