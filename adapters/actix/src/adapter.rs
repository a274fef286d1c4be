//! The adapter: its handle.

use std::sync::Arc;

use pointwork_core::adapter::AdapterState;
use pointwork_core::routing::MethodFilter;
use pointwork_core::{Error, Router, Serving, Staged, adapter_handle};
use tokio::net::TcpListener;

use crate::{ActixService, server};

/// Adapter C: serves an application's routes on actix-web (spec A4).
///
/// A handle that is cheap to clone; all clones are one adapter. Give one to the application, which publishes its routes
/// through it, and keep one to [`serve`](Self::serve) or to [mount](Self::service) it with. Until the first routes are
/// published every request gets 503.
#[derive(Clone)]
pub struct Actix {
    state: Arc<AdapterState<Router>>,
}

adapter_handle! {
    Actix { name: "actix" }

    /// Whether actix-web can hold the method: its older `http` accepts none with one of the characters `#$%&'`.
    fn serves(&self, method: &MethodFilter) -> bool {
        match method {
            MethodFilter::All => true,
            MethodFilter::Only(method) => actix_web::http::Method::from_bytes(method.as_str().as_bytes()).is_ok(),
        }
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        Ok(self.state.stage(Router::clone(&router)))
    }
}

impl Actix {
    /// Serves a listener until the end of the process, or [until a signal](Serving::with_graceful_shutdown).
    pub fn serve(&self, listener: TcpListener) -> Serving {
        let state = self.state.clone();
        Serving::new(|signal| server::run(state, listener, signal))
    }

    /// The adapter as a service of actix-web, to be mounted in an application that already exists, with its middleware
    /// around it (spec A9).
    pub fn service(&self) -> ActixService {
        ActixService(self.state.clone())
    }
}
