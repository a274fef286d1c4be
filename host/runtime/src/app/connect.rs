//! Connects adapters, at a prefix.

use std::sync::Arc;

use pointwork_core::Transport;
use pointwork_core::routing::Pattern;

use super::App;
use crate::setters::setters;
use crate::{Error, ErrorKind, OrError};

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

    setters! {
        /// Sets the global prefix.
        prefix(prefix: impl Into<String>) => Some(prefix.into());
    }
}

impl App {
    /// Connects an adapter: it receives every route that is declared so far, and later ones follow (spec M4).
    ///
    /// An adapter that receives no route logs one error, since it would answer 404 to everything (spec E3). Do not also
    /// mount the adapter's router at the prefix: its routes would be served at the doubled path (spec G6).
    ///
    /// # Errors
    /// [`Refused`](crate::ErrorKind::Refused) if the prefix is not a path, or the adapter refuses the table.
    pub fn connect_to(&self, transport: impl Transport, options: ConnectOptions) -> Result<&Self, Error> {
        let transport: Arc<dyn Transport> = Arc::new(transport);
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
        Ok(self)
    }

    /// Sets the global prefix: routes that are registered from now on stand under it, earlier ones stay where they are.
    /// It is applied once, also if it is set twice (spec G2, G4).
    ///
    /// A module counts as registered when it first meets an adapter: at [`connect_to`](Self::connect_to), or at its
    /// load if an adapter is connected by then.
    ///
    /// # Errors
    /// [`Refused`](crate::ErrorKind::Refused) if the prefix is not a path.
    pub fn set_global_prefix(&self, prefix: &str) -> Result<&Self, Error> {
        check_prefix(prefix)?;
        self.change(|binder| {
            binder.prefix = Some(prefix.to_owned());
            Ok(())
        })?;
        Ok(self)
    }
}

fn check_prefix(prefix: &str) -> Result<(), Error> {
    let message = format!("the global prefix `{prefix}` is refused");
    Pattern::parse(prefix).map(drop).or_error(ErrorKind::Refused, message)
}
