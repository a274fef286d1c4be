//! The adapter itself: what it published, and the ways to serve it.

use std::fmt;
use std::sync::Arc;

use pointwork_core::routing::MethodFilter;
use pointwork_core::{Error, Published, Reporter, Router, ServerOptions, Staged, Transport};
use tokio::net::{TcpListener, ToSocketAddrs};

use crate::{ActixService, Serving, serving};

pub(crate) const NAME: &str = "actix";

/// Adapter C: serves an application's routes on actix-web (spec A4).
///
/// A handle that is cheap to clone; all clones are one adapter. Give one to the application, which publishes its routes
/// through it, and keep one to [`serve`](Self::serve) or to [mount](Self::service) it with. Until the first routes are
/// published every request gets 503.
#[derive(Clone)]
pub struct Actix(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) options: ServerOptions,
    pub(crate) published: Arc<Published<Router>>,
}

impl Actix {
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

    /// Serves a listener until the end of the process, or [until a signal](Serving::with_graceful_shutdown).
    pub fn serve(&self, listener: TcpListener) -> Serving {
        let adapter = self.0.clone();
        Serving::new(|signal| serving::run(adapter, listener, signal))
    }

    /// The adapter as a service of actix-web, to be mounted in an application that already exists, with its middleware
    /// around it (spec A9).
    pub fn service(&self) -> ActixService {
        ActixService::new(self.0.clone())
    }
}

impl Default for Actix {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Actix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Actix")
            .field("options", &self.0.options)
            .field("published", &self.0.published)
            .finish()
    }
}

impl Transport for Actix {
    fn name(&self) -> &'static str {
        NAME
    }

    fn attach(&self, reporter: Reporter) {
        self.0.published.attach(reporter);
    }

    /// Asks actix-web whether the method can be one at all: the `http` that it uses is old, and takes none with one of the
    /// characters `#$%&'`.
    fn serves(&self, method: &MethodFilter) -> bool {
        match method {
            MethodFilter::All => true,
            MethodFilter::Only(method) => actix_web::http::Method::from_bytes(method.as_str().as_bytes()).is_ok(),
        }
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error> {
        Ok(self.0.published.stage(Router::clone(&router)))
    }
}
