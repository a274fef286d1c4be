//! The adapter: its handle, and the ways to serve it.

use std::convert::Infallible;
use std::sync::Arc;

use http::Request;
use http::uri::Scheme;
use hyper::body::Incoming;
use hyper::service::service_fn;
use pointwork_core::adapter::AdapterState;
use pointwork_core::{Error, Router, Serving, Staged, adapter_handle};
use salvo_core::conn::SocketAddr;
use salvo_core::{ConnCtrl, Service};
use tokio::net::TcpListener;

use crate::handler::{CatchAll, WholePath};
use crate::request::Unobserved;

/// Adapter D: serves an application's routes on salvo (spec A4).
///
/// A handle that is cheap to clone; all clones are one adapter. Give one to the application, which publishes its routes
/// through it, and keep one to [`serve`](Self::serve) with. Until the first routes are published every request gets 503.
#[derive(Clone)]
pub struct Salvo {
    state: Arc<AdapterState<Router>>,
}

adapter_handle! {
    Salvo { name: "salvo" }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        Ok(self.state.stage(Router::clone(&router)))
    }
}

impl Salvo {
    /// Serves a listener until the end of the process, or [until a signal](Serving::with_graceful_shutdown).
    ///
    /// A [`Service`] of salvo's answers, on the server of [`pointwork_server`], with the limits and timeouts of the
    /// [options](pointwork_core::ServerOptions).
    pub fn serve(&self, listener: TcpListener) -> Serving {
        let salvo = Arc::new(Service::new(self.router()).hyper_handler(
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

    /// The adapter as a router of salvo's, to be pushed into an application that already exists, with its middleware
    /// around it (spec A9).
    ///
    /// It answers every request that reaches it, with 404 and 405 too, and sees later tables as they are published. salvo
    /// tries its routers in their order, so push it last: no router behind it is tried.
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
    /// let router = Router::new()
    ///     .hoop(mark)
    ///     .push(Router::with_path("own").get(own))
    ///     .push(salvo.router());
    /// // Server::new(acceptor).serve(router)
    /// # drop(router);
    /// ```
    ///
    /// # Prefixes
    /// A [path](salvo_core::Router::path) before it decides which requests come in, and takes nothing off the target: the
    /// routes match the whole path, as the client sent it, which is also the context's (spec G5). So an application
    /// under `Router::with_path("api")` needs `api` as its global prefix. A middleware that does take a prefix off, by
    /// [`set_uri`](salvo_core::Request::set_uri), makes the path double if the application has the prefix as well
    /// (spec G6).
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
        salvo_core::Router::with_filter(WholePath).goal(CatchAll(self.state.clone()))
    }
}
