//! The adapter: its handle.

use std::sync::Arc;

use pointwork_core::adapter::{AdapterState, Place};
use pointwork_core::routing::MethodFilter;
use pointwork_core::{Error, Router, Serving, Staged, adapter_handle};
use tokio::net::TcpListener;
use trillium::Method;

use crate::handler::TrilliumHandler;
use crate::server;

/// Adapter B: serves an application's routes on trillium (spec A3).
///
/// A handle that is cheap to clone; all clones are one adapter. Give one to the application, which publishes its routes
/// through it, and keep one to [`serve`](Self::serve) or to mount it with, [in front](Self::in_front) of handlers of your
/// own or [below a prefix](Self::handler). Until the first routes are published every request that is its own gets 503.
#[derive(Clone)]
pub struct Trillium {
    state: Arc<AdapterState>,
}

adapter_handle! {
    Trillium { name: "trillium" }

    /// Whether the method is in trillium's list. A route for every method is served, for all in the list.
    fn supports_method(&self, method: &MethodFilter) -> bool {
        match method {
            MethodFilter::All => true,
            // Compared by name: this parser accepts `get` for `GET`, and the parser of requests does not.
            MethodFilter::Only(method) => {
                Method::try_from(method.as_str()).is_ok_and(|known| known.as_str() == method.as_str())
            }
        }
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        Ok(self.state.stage(&router, ()))
    }
}

impl Trillium {
    /// Serves a listener with trillium's server until the end of the process, or
    /// [until a signal](Serving::with_graceful_shutdown). No handler for signals of the operating system is installed.
    ///
    /// It logs a warning for each setting that trillium's server cannot keep.
    pub fn serve(&self, listener: TcpListener) -> Serving {
        let state = self.state.clone();
        Serving::new(|signal| server::run(state, listener, signal))
    }

    /// The adapter as a handler in front of handlers of the user's (spec A9). A request is the adapter's only if a route matches
    /// its path and method; every other connection is passed on untouched, its body unread.
    pub fn in_front(&self) -> TrilliumHandler {
        TrilliumHandler::new(self.state.clone(), Place::InFront)
    }

    /// The adapter as a handler that answers everything below the prefix of its connection, 404 and 405 too; every other
    /// connection is passed on untouched (spec A9). Routes that are not below the prefix are warned of and shown as
    /// unavailable (spec A10).
    pub fn handler(&self) -> TrilliumHandler {
        self.state.mount_below();
        TrilliumHandler::new(self.state.clone(), Place::Below)
    }
}
