//! The HTTP servers that the command line can run on. Each is a cargo feature, `adapter-<name>`; the names are known
//! without it too, so that a build that lacks one can say so.
//!
//! A further one is a feature, a case of [`Adapter`], a line in [`Adapter::serve`] and a module of the size of [`hyper`].

#[cfg(feature = "adapter-hyper")]
mod hyper;

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use clap::ValueEnum;
use pointwork::App;
use serde::Deserialize;
use tokio::net::TcpListener;

use crate::config::Limits;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// The HTTP server to run on.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Adapter {
    /// Bare hyper
    #[default]
    Hyper,
}

/// A future that owns all it needs.
pub(crate) type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl Adapter {
    /// Connects the application and serves the listener until `stop` completes and the requests in flight have ended.
    /// Nothing is accepted before the result is polled; until then clients wait in the listener's backlog.
    ///
    /// # Errors
    ///
    /// This build lacks the adapter, or the adapter refuses the routes.
    pub(crate) fn serve(
        self,
        app: &App,
        listener: TcpListener,
        limits: &Limits,
        stop: Boxed<()>,
    ) -> Result<Boxed<Result<()>>> {
        match self {
            #[cfg(feature = "adapter-hyper")]
            Self::Hyper => hyper::serve(app, listener, limits, stop),
            #[allow(unreachable_patterns, reason = "reached by what is built without some feature")]
            missing => {
                drop((app, listener, limits, stop));
                let hint = format!("build pointwork-cli with the feature `adapter-{missing}`");
                Err(Error::new(Exit::Usage, format!("this build has no adapter `{missing}`")).with_hint(hint))
            }
        }
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Hyper => "hyper",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adapters_have_one_name_on_the_command_line_in_the_file_and_in_messages() {
        for adapter in Adapter::value_variants() {
            let shown = adapter.to_string();
            assert_eq!(
                adapter.to_possible_value().expect("none is hidden").get_name(),
                shown.as_str()
            );
            let read: Adapter = serde_json::from_value(shown.into()).expect("its name in a file");
            assert_eq!(read, *adapter);
        }
    }
}
