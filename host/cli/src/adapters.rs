//! The HTTP servers that the command line can run on. Each is a cargo feature, `adapter-<name>`; the names are known
//! without it too, so that a build that lacks one can say so.
//!
//! A further one is a feature, a case of [`Adapter`], and a line in [`Adapter::connect`].

use std::future::Future;
use std::pin::Pin;

use pointwork::App;
use pointwork_core::ServerOptions;
use tokio::net::TcpListener;

use crate::config::Adapter;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// A future that owns all it needs.
pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// Serves a listener until the second argument completes and the requests in flight have ended. Nothing is accepted
/// before the result is polled; until then clients wait in the listener's backlog.
pub(crate) type Serve = Box<dyn FnOnce(TcpListener, Boxed<()>) -> Boxed<()>>;

/// Connects an adapter. They are of one form and have no trait in common: nobody else would use it.
#[allow(unused_macros, reason = "used by what is built with any adapter")]
macro_rules! connect {
    ($app:ident, $adapter:expr) => {{
        let adapter = $adapter;
        $app.connect_to(adapter.clone(), pointwork::ConnectOptions::new())?;
        Ok(Box::new(move |listener, stop| {
            Box::pin(adapter.serve(listener).with_graceful_shutdown(stop))
        }))
    }};
}

impl Adapter {
    /// Connects the application, which from then on has its routes on this adapter.
    ///
    /// # Errors
    ///
    /// This build lacks the adapter, or the adapter refuses the routes.
    pub(crate) fn connect(self, app: &App, options: ServerOptions) -> Result<Serve> {
        match self {
            #[cfg(feature = "adapter-axum")]
            Self::Axum => connect!(app, pointwork_axum::Axum::with_options(options)),
            #[cfg(feature = "adapter-trillium")]
            Self::Trillium => connect!(app, pointwork_trillium::Trillium::with_options(options)),
            #[cfg(feature = "adapter-actix")]
            Self::Actix => connect!(app, pointwork_actix::Actix::with_options(options)),
            #[cfg(feature = "adapter-salvo")]
            Self::Salvo => connect!(app, pointwork_salvo::Salvo::with_options(options)),
            #[cfg(feature = "adapter-hyper")]
            Self::Hyper => connect!(app, pointwork_hyper::Hyper::with_options(options)),
            #[allow(unreachable_patterns, reason = "reached by what is built without some feature")]
            missing => {
                let _ = (app, options);
                let hint = format!("build pointwork-cli with the feature `adapter-{missing}`");
                Err(Error::new(Exit::Usage, format!("this build has no adapter `{missing}`")).with_hint(hint))
            }
        }
    }
}
