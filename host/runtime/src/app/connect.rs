//! Connects adapters.

use std::sync::Arc;

use pointwork_core::Transport;
use pointwork_core::routing::Pattern;

use super::App;
use crate::{Error, ErrorKind};

/// Options of a connection to an adapter.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The global prefix, as [`App::set_global_prefix`] sets it.
    pub prefix: Option<String>,
}

impl ConnectOptions {
    /// No prefix.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the global prefix.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }
}

impl App {
    pub(super) fn attach(&self, transport: Arc<dyn Transport>, options: ConnectOptions) -> Result<(), Error> {
        if let Some(prefix) = &options.prefix {
            check_prefix(prefix)?;
        }
        let name = transport.name();
        transport.attach(self.bus().reporter(name));
        let mut replayed = false;
        self.change(|binder| {
            if options.prefix.is_some() {
                binder.prefix = options.prefix;
            }
            replayed = binder.attach(transport);
            Ok(())
        })?;
        if !replayed {
            tracing::error!(
                adapter = name,
                "the route replay to adapter `{name}` is missing: it received no route, and answers 404 until one is \
                 registered. Likely causes: no module is loaded; a module lists no controllers; a component was built \
                 against an older version of the WIT package"
            );
        }
        Ok(())
    }
}

pub(super) fn check_prefix(prefix: &str) -> Result<(), Error> {
    Pattern::parse(prefix).map(drop).map_err(|error| {
        Error::new(ErrorKind::Refused, format!("the global prefix `{prefix}` is refused")).with_source(error)
    })
}
