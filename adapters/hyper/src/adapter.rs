//! The adapter itself: the published router, and the way of a request to it.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body::Body as HttpBody;
use pointwork_core::{Body, Error, Reporter, Router, Staged, Transport, error_reply};
use tokio::net::TcpListener;

use crate::body::{BoxError, convert};
use crate::{HyperOptions, HyperService, Serving};

/// Adapter E: serves an application's routes on bare hyper (spec A5).
///
/// A handle that is cheap to clone; all clones are one adapter. Give one to the application, which publishes its routes
/// through it, and keep one to [`serve`](Self::serve) with. Until the first routes are published every request gets 503.
#[derive(Clone, Default)]
pub struct Hyper(Arc<Inner>);

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) options: HyperOptions,
    router: ArcSwapOption<Router>,
    reporter: ArcSwapOption<Reporter>,
}

impl Hyper {
    /// An adapter with the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// An adapter with these options.
    pub fn with_options(options: HyperOptions) -> Self {
        Self(Arc::new(Inner {
            options: options.clamped(),
            ..Inner::default()
        }))
    }

    /// Opens a listener, for example on `127.0.0.1:8080`; port 0 picks a free one.
    ///
    /// # Errors
    /// [`Adapter`](pointwork_core::ErrorKind::Adapter), naming the address and what to do, if it is taken or cannot be
    /// had. The failure is emitted as `server:crashed` too (spec E1), provided that the adapter is attached.
    pub async fn bind(&self, address: impl tokio::net::ToSocketAddrs + fmt::Display) -> Result<TcpListener, Error> {
        crate::bind::bind(&self.0, address).await
    }

    /// Serves a listener until the end of the process, or [until a signal](Serving::with_graceful_shutdown).
    pub fn serve(&self, listener: TcpListener) -> Serving {
        Serving::new(self.0.clone(), listener)
    }

    /// The adapter as a service, to be mounted in a server that already exists, with its middleware around it (spec A9).
    pub fn service(&self) -> HyperService {
        HyperService::new(self.0.clone())
    }
}

impl fmt::Debug for Hyper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hyper")
            .field("options", &self.0.options)
            .field("router", &self.0.router.load())
            .finish()
    }
}

impl Transport for Hyper {
    fn name(&self) -> &'static str {
        "hyper"
    }

    fn attach(&self, reporter: Reporter) {
        self.0.reporter.store(Some(Arc::new(reporter)));
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        let inner = self.0.clone();
        Ok(Staged::new(move || inner.router.store(Some(router))))
    }
}

impl Inner {
    /// Answers one request on the router of this moment, which it keeps until the request ends (spec S1).
    pub(crate) async fn respond<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let Some(router) = self.router.load_full() else {
            return unavailable(request.method());
        };
        let request = request.map(|body| convert(body, self.options.body_timeout));
        router.respond(None, request).await
    }

    /// Reports a failure of the adapter; before it is attached there is only the log.
    pub(crate) fn report(&self, message: String) {
        match &*self.reporter.load() {
            Some(reporter) => reporter.adapter_failed(message),
            None => tracing::error!(adapter = "hyper", "{message}"),
        }
    }
}

fn unavailable(method: &Method) -> Response<Body> {
    let mut reply = error_reply(StatusCode::SERVICE_UNAVAILABLE, "the server has no routes yet");
    reply
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    if method == Method::HEAD {
        *reply.body_mut() = Body::empty();
    }
    reply
}
