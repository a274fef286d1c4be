//! The HTTP servers of `--adapter`, each behind the cargo feature `adapter-<name>`. A build without a feature knows the
//! name, for its error.
//!
//! A further server needs a feature, a case of [`Adapter`], and a line in [`connect`].

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use pointwork::App;
use pointwork_config::Adapter;
use pointwork_core::{BoxFuture, ServerOptions};
use tokio::net::TcpListener;

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

/// The parser of `--adapter`, which lists the names with what is particular to each.
pub(crate) fn parser() -> impl TypedValueParser<Value = Adapter> {
    let about = |adapter: &Adapter| match adapter {
        Adapter::Trillium => "trillium; its list of methods is closed",
        Adapter::Actix => "actix-web; without HTTP/2",
        Adapter::Hyper => "Bare hyper",
        usual => usual.name(),
    };
    let values = Adapter::ALL.iter();
    let values = values.map(move |adapter| PossibleValue::new(adapter.name()).help(about(adapter)));
    let adapter = |name: String| Adapter::ALL.iter().copied().find(|adapter| adapter.name() == name);
    PossibleValuesParser::new(values).try_map(move |name| adapter(name).ok_or("no adapter has this name"))
}

/// Connects the application, whose routes are then served by this adapter.
pub(crate) fn connect(adapter: Adapter, app: &App, options: ServerOptions) -> Result<Serve> {
    match adapter {
        #[cfg(feature = "adapter-axum")]
        Adapter::Axum => connect!(app, pointwork_axum::Axum::with_options(options)),
        #[cfg(feature = "adapter-trillium")]
        Adapter::Trillium => connect!(app, pointwork_trillium::Trillium::with_options(options)),
        #[cfg(feature = "adapter-actix")]
        Adapter::Actix => connect!(app, pointwork_actix::Actix::with_options(options)),
        #[cfg(feature = "adapter-salvo")]
        Adapter::Salvo => connect!(app, pointwork_salvo::Salvo::with_options(options)),
        #[cfg(feature = "adapter-hyper")]
        Adapter::Hyper => connect!(app, pointwork_hyper::Hyper::with_options(options)),
        missing => {
            let _ = (app, options);
            let hint = format!("build pointwork-cli with the feature `adapter-{missing}`");
            Err(Error::new(Exit::Usage, format!("this build has no adapter `{missing}`")).with_hint(hint))
        }
    }
}
