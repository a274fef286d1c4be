//! The adapter: its handle.

use std::sync::Arc;

use pointwork_core::adapter::AdapterState;
use pointwork_core::routing::MethodFilter;
use pointwork_core::{Error, Router, Serving, Staged, adapter_handle};
use tokio::net::TcpListener;

use crate::{ActixInFront, ActixService, server};

/// Adapter C: serves an application's routes on actix-web (spec A4).
///
/// A handle that is cheap to clone; all clones are one adapter. Give one to the application, which publishes its routes
/// through it, and keep one to [`serve`](Self::serve) or to mount it with, [in front](Self::in_front) of services of your
/// own or [below a prefix](Self::service). Until the first routes are published every request that is its own gets 503.
#[derive(Clone)]
pub struct Actix {
    state: Arc<AdapterState>,
}

adapter_handle! {
    Actix { name: "actix" }

    /// Whether actix-web can hold the method: its older `http` accepts none with one of the characters `#$%&'`.
    fn supports_method(&self, method: &MethodFilter) -> bool {
        match method {
            MethodFilter::All => true,
            MethodFilter::Only(method) => actix_web::http::Method::from_bytes(method.as_str().as_bytes()).is_ok(),
        }
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        Ok(self.state.stage(&router, ()))
    }
}

impl Actix {
    /// Serves a listener until the end of the process, or [until a signal](Serving::with_graceful_shutdown).
    pub fn serve(&self, listener: TcpListener) -> Serving {
        let state = self.state.clone();
        Serving::new(|signal| server::run(state, listener, signal))
    }

    /// The adapter as a middleware for `App::wrap`, in front of the user's own services (spec A9). A request is the adapter's
    /// only if a route matches its path and method; everything else goes on untouched.
    pub fn in_front(&self) -> ActixInFront {
        ActixInFront(self.state.clone())
    }

    /// The adapter as a service that answers everything below the prefix of its connection, 404 and 405 too; everything else
    /// goes on to the user's other services (spec A9). Routes that are not below the prefix are warned of and shown as
    /// unavailable (spec A10).
    pub fn service(&self) -> ActixService {
        self.state.mount_below();
        ActixService(self.state.clone())
    }
}
