//! The adapter itself: the published router, and the ways to serve it.

use std::fmt;
use std::sync::Arc;

use pointwork_core::routing::MethodFilter;
use pointwork_core::{Error, Published, Reporter, Router, ServerOptions, Staged, Transport};
use tokio::net::{TcpListener, ToSocketAddrs};
use trillium::Method;

use crate::{Serving, TrilliumHandler, server};

/// Adapter B: serves an application's routes on trillium (spec A3).
///
/// A handle that is cheap to clone; all clones are one adapter. Give one to the application, which publishes its routes
/// through it, and keep one to [`serve`](Self::serve) with. Until the first routes are published every request gets 503.
///
/// trillium's list of methods is closed: a route for a method outside it, such as `PURGE`, is
/// [not served](Transport::serves), and trillium itself answers such a request with 501. A route for every method
/// answers all that are in the list.
#[derive(Clone)]
pub struct Trillium(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) options: ServerOptions,
    pub(crate) published: Arc<Published<Router>>,
}

pub(crate) const NAME: &str = "trillium";

impl Trillium {
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
    pub async fn bind(&self, address: impl ToSocketAddrs + fmt::Display) -> Result<TcpListener, Error> {
        let name = address.to_string();
        let bound = TcpListener::bind(address).await;
        bound.map_err(|cause| self.0.published.bind_failed(&name, cause))
    }

    /// Serves a listener with trillium's server until the end of the process, or
    /// [until a signal](Serving::with_graceful_shutdown). No handler for signals of the operating system is installed.
    ///
    /// A setting that trillium's server cannot keep is warned about here, with its name.
    pub fn serve(&self, listener: TcpListener) -> Serving {
        let inner = self.0.clone();
        Serving::new(|signal| server::run(inner, listener, signal))
    }

    /// The adapter as a trillium handler, to be mounted in an application that already exists, with its handlers before
    /// and after it (spec A9).
    pub fn handler(&self) -> TrilliumHandler {
        TrilliumHandler::new(self.0.clone())
    }
}

impl Default for Trillium {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Trillium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trillium")
            .field("options", &self.0.options)
            .field("published", &self.0.published)
            .finish()
    }
}

impl Transport for Trillium {
    fn name(&self) -> &'static str {
        NAME
    }

    fn attach(&self, reporter: Reporter) {
        self.0.published.attach(reporter);
    }

    /// Whether the method is in trillium's list. A route for every method is served, for all in the list.
    fn serves(&self, method: &MethodFilter) -> bool {
        match method {
            MethodFilter::All => true,
            // By its very name: this parser takes `get` for `GET`, and that of requests does not.
            MethodFilter::Only(method) => {
                Method::try_from(method.as_str()).is_ok_and(|known| known.as_str() == method.as_str())
            }
        }
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        Ok(self.0.published.stage(Router::clone(&router)))
    }
}
