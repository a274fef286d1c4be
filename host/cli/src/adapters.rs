//! The HTTP servers of `--adapter`, each behind the cargo feature `adapter-<name>`. A build without a feature knows the
//! name, for its error.
//!
//! A further server needs a feature, a case of [`Adapter`], and a line in [`Adapter::connect`].

use pointwork::App;
use pointwork_core::{BoxFuture, ServerOptions};
use tokio::net::TcpListener;

use crate::config::Adapter;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// Serves a listener until the second argument completes and the requests in flight have ended. Nothing is accepted
/// before the result is polled; until then clients wait in the backlog of the listener.
pub(crate) type Serve = Box<dyn FnOnce(TcpListener, BoxFuture<'static, ()>) -> BoxFuture<'static, ()>>;

/// Connects an adapter. The adapters have the same methods and no common trait, which nothing else would use.
#[allow(unused_macros, reason = "a build without any adapter does not use it")]
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
    /// Connects the application, whose routes are then served by this adapter.
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
            #[allow(unreachable_patterns, reason = "a build without some feature reaches it")]
            missing => {
                let _ = (app, options);
                let hint = format!("build pointwork-cli with the feature `adapter-{missing}`");
                Err(Error::new(Exit::Usage, format!("this build has no adapter `{missing}`")).with_hint(hint))
            }
        }
    }
}
