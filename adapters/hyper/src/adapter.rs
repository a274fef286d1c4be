//! The adapter: its handle.

use std::sync::Arc;

use futures_util::FutureExt as _;
use http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use pointwork_core::adapter::{AdapterState, Place};
use pointwork_core::{Error, Router, Serving, Staged, adapter_handle};
use pointwork_server::request_body;
use tokio::net::TcpListener;

use crate::HyperService;
use crate::layer::HyperLayer;

/// Adapter E: serves an application's routes on bare hyper (spec A5).
///
/// A handle that is cheap to clone; all clones are one adapter. Give one to the application, which publishes its routes
/// through it, and keep one to [`serve`](Self::serve) with. Until the first routes are published every request gets 503.
#[derive(Clone)]
pub struct Hyper {
    state: Arc<AdapterState>,
}

adapter_handle! {
    Hyper { name: "hyper" }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        Ok(self.state.stage(&router, ()))
    }
}

impl Hyper {
    /// Serves a listener until the end of the process, or [until a signal](Serving::with_graceful_shutdown).
    pub fn serve(&self, listener: TcpListener) -> Serving {
        let state = self.state.clone();
        // Not the service for mounting, whose future is boxed.
        let service =
            service_fn(move |request: Request<Incoming>| state.respond(None, request.map(request_body)).map(Ok));
        pointwork_server::serve(&self.state, listener, service)
    }

    /// The adapter as a layer in front of a service of the user's (spec A9). A request is the adapter's only if a route matches
    /// its path and method; everything else goes on untouched, its body unread.
    pub fn in_front(&self) -> HyperLayer {
        self.layer(Place::InFront)
    }

    /// The adapter as a layer that answers everything below the prefix of its connection, 404 and 405 too; everything else
    /// goes on untouched to the service inside (spec A9). Routes that are not below the prefix are warned of and shown as
    /// unavailable (spec A10).
    pub fn below(&self) -> HyperLayer {
        self.state.mount_below();
        self.layer(Place::Below)
    }

    fn layer(&self, place: Place) -> HyperLayer {
        let state = self.state.clone();
        HyperLayer { state, place }
    }

    /// The adapter as a service, to be mounted in a server that already exists, with its middleware around it (spec A9).
    pub fn service(&self) -> HyperService {
        HyperService(self.state.clone())
    }
}
