//! The adapter: its handle, and the ways to serve it.

use std::convert::Infallible;
use std::sync::Arc;

use http::Request;
use http::uri::Scheme;
use hyper::body::Incoming;
use hyper::service::service_fn;
use pointwork_core::adapter::{AdapterState, Place};
use pointwork_core::{Error, Router, Serving, Staged, adapter_handle};
use salvo_core::conn::SocketAddr;
use salvo_core::{ConnCtrl, Service};
use tokio::net::TcpListener;

use crate::handler::{CatchAll, SalvoHoop, WholePath};
use crate::request::Unobserved;

/// Adapter D: serves an application's routes on salvo (spec A4).
///
/// A handle that is cheap to clone; all clones are one adapter. Give one to the application, which publishes its routes
/// through it, and keep one to [`serve`](Self::serve) with. Until the first routes are published every request gets 503.
#[derive(Clone)]
pub struct Salvo {
    state: Arc<AdapterState>,
}

adapter_handle! {
    Salvo { name: "salvo" }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        Ok(self.state.stage(&router, ()))
    }
}

impl Salvo {
    /// Serves a listener until the end of the process, or [until a signal](Serving::with_graceful_shutdown).
    ///
    /// A [`Service`] of salvo's answers, on the server of [`pointwork_server`], with the limits and timeouts of the
    /// [options](pointwork_core::ServerOptions).
    pub fn serve(&self, listener: TcpListener) -> Serving {
        let salvo = Arc::new(Service::new(self.router_of(Place::Everything)).hyper_handler(
            SocketAddr::Unknown,
            SocketAddr::Unknown,
            Scheme::HTTP,
            None,
            ConnCtrl::new(),
            None,
        ));
        let service = service_fn(move |mut request: Request<Incoming>| {
            let salvo = salvo.clone();
            request.extensions_mut().insert(Unobserved);
            // Not as a service of hyper's, which rewrites the target where `fix-http1-request-uri` is on.
            let request = salvo_core::Request::from_hyper(request, Scheme::HTTP);
            async move { Ok::<_, Infallible>(salvo.handle(request).await.into_hyper()) }
        });
        pointwork_server::serve(&self.state, listener, service)
    }

    /// The adapter as a hoop of a [`Service`], in front of the user's routers (spec A9). A request is the adapter's only if a
    /// route matches its path and method, HEAD by GET included; everything else goes on untouched, its body unread: to the
    /// user's routers and catcher.
    ///
    /// *Give it to [`Service::hoop`], not to [`Router::hoop`](salvo_core::Router::hoop)*: a router's hoop runs only when a
    /// route of the user's matched, and the routes of the application would be lost without a warning (spec A10). Hoops
    /// that are added before it stand around both; a hoop of a router stands around the user's own routes alone.
    ///
    /// It sees later tables as they are published. Before the first one, and after the application was closed, everything
    /// goes on to the user's routers.
    ///
    /// ```
    /// use pointwork_salvo::Salvo;
    /// use salvo_core::prelude::*;
    ///
    /// #[handler]
    /// async fn own() -> &'static str {
    ///     "my own"
    /// }
    ///
    /// #[handler]
    /// async fn mark(res: &mut Response) {
    ///     let _ = res.add_header("x-served-by", "me", true);
    /// }
    ///
    /// let salvo = Salvo::new();
    /// // app.connect_to(salvo.clone(), …)
    /// let router = Router::with_path("own").get(own);
    /// let service = Service::new(router).hoop(mark).hoop(salvo.in_front());
    /// // Server::new(acceptor).serve(service)
    /// # drop(service);
    /// ```
    ///
    /// # Hoops that refuse
    /// Where no router matched, salvo sets 404 or 405 before the hoops run, and runs them all, whatever they set. The adapter
    /// does not answer a request that a hoop before it has refused, by any other status from 300 on or by a body.
    /// *A hoop that refuses by a bare 404 or 405 has to call [`skip_rest`](salvo_core::FlowCtrl::skip_rest).*
    ///
    /// The docs of [`router`](Self::router) state the rest of the rules for a middleware.
    pub fn in_front(&self) -> SalvoHoop {
        SalvoHoop(self.state.clone())
    }

    /// The adapter as a router of salvo's that answers everything below the prefix of its connection, with 404, 405 and 503
    /// too (spec A9). Push it among the user's routers.
    ///
    /// salvo tries its routers in their order. Those behind this one are tried for all other paths, a `{**rest}` that is the
    /// user's fallback too; those before it come first below the prefix as well. Without a prefix, it takes every request
    /// that reaches it. It takes none until it is connected. Routes that are not below the prefix are warned of and shown as
    /// unavailable (spec A10).
    ///
    /// ```
    /// use pointwork_salvo::Salvo;
    /// use salvo_core::prelude::*;
    ///
    /// #[handler]
    /// async fn own() -> &'static str {
    ///     "my own"
    /// }
    ///
    /// let salvo = Salvo::new();
    /// // app.connect_to(salvo.clone(), ConnectOptions::new().prefix("api"))
    /// let router = Router::new()
    ///     .push(salvo.router())
    ///     .push(Router::with_path("own").get(own));
    /// // Server::new(acceptor).serve(router)
    /// # drop(router);
    /// ```
    ///
    /// # Prefixes
    /// The prefix is compared with the path as the client sent it, segment by segment. A
    /// [path](salvo_core::Router::path) of salvo's before the router takes nothing off the target: under
    /// `Router::with_path("api")` the prefix is still `api`, and the context's path is the whole one (spec G5). A middleware
    /// that takes a prefix off, by [`set_uri`](salvo_core::Request::set_uri), makes the path double (spec G6).
    ///
    /// # Middleware
    /// Named values for the context and the log go into an [`Extensions`](pointwork_core::Extensions), in the request's
    /// [extensions](salvo_core::Request::extensions_mut) or, if there is none, in the
    /// [depot](salvo_core::Depot::insert_typed). Headers that were set on the response before stay, unless the reply has
    /// them. A body that was read by [`payload`](salvo_core::Request::payload) is handed on; one that was read in another
    /// way is gone. Both [`limit_body`](salvo_core::Request::limit_body) and the application's own limit hold.
    ///
    /// The adapter adds nothing to [`params`](salvo_core::Request::params), `matched_path`, the depot or the request's
    /// extensions, before or after: they hold what your own routers and middleware put there. After `call_next` the
    /// request's body is gone.
    ///
    /// No [`Catcher`](salvo_core::catcher::Catcher) replaces a reply, not even one without a body.
    pub fn router(&self) -> salvo_core::Router {
        self.state.mount_below();
        self.router_of(Place::Below)
    }

    fn router_of(&self, place: Place) -> salvo_core::Router {
        salvo_core::Router::with_filter(WholePath(self.state.clone(), place)).goal(CatchAll(self.state.clone()))
    }
}
