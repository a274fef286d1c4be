//! The adapter: its handle.

use std::sync::Arc;

use pointwork_core::adapter::AdapterState;
use pointwork_core::routing::MethodFilter;
use pointwork_core::{Error, Router, Serving, Staged, adapter_handle};
use tokio::net::TcpListener;
use trillium::Method;

use crate::{TrilliumHandler, server};

/// Adapter B: serves an application's routes on trillium (spec A3).
///
/// A handle that is cheap to clone; all clones are one adapter. Give one to the application, which publishes its routes
/// through it, and keep one to [`serve`](Self::serve) with. Until the first routes are published every request gets 503.
#[derive(Clone)]
pub struct Trillium {
    state: Arc<AdapterState<Router>>,
}

adapter_handle! {
    Trillium { name: "trillium" }

    /// Whether the method is in trillium's list. A route for every method is served, for all in the list.
    fn serves(&self, method: &MethodFilter) -> bool {
        match method {
            MethodFilter::All => true,
            // Compared by name: this parser accepts `get` for `GET`, and the parser of requests does not.
            MethodFilter::Only(method) => {
                Method::try_from(method.as_str()).is_ok_and(|known| known.as_str() == method.as_str())
            }
        }
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        Ok(self.state.stage(Router::clone(&router)))
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

    /// The adapter as a trillium handler, to be mounted in an application that already exists, with its handlers before
    /// and after it (spec A9).
    pub fn handler(&self) -> TrilliumHandler {
        TrilliumHandler::new(self.state.clone(), false)
    }
}
