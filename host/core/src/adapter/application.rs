//! The contract between an adapter and the application that it is connected to.

use crate::Transport;

/// An application that adapters connect to: `pointwork::App`. Through it the adapters' crates offer mounting in one call.
pub trait Application {
    /// The application's error.
    type Error: From<crate::Error>;

    /// Connects an adapter: its first table is published when this returns.
    ///
    /// # Errors
    /// The application or the adapter refuses the connection.
    fn connect(&self, transport: impl Transport, options: ConnectOptions) -> Result<(), Self::Error>;
}

/// Options of the connection between an application and an adapter.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The global prefix from now on; `None` keeps the one that is set.
    pub prefix: Option<String>,
    /// The path prefixes that modules may claim on this adapter, after the global prefix; `None` for all.
    pub claims: Option<Vec<String>>,
    /// Whether loaded modules without routes are meant, so that no error is logged for them.
    pub without_module_routes: bool,
}

impl ConnectOptions {
    /// The prefix that is set, and no restriction.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the global prefix (spec G1). It covers modules that no adapter serves
    /// yet; a route that was registered by hand before stays where it is (spec G2).
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Names the path prefixes that modules may claim on this adapter, such as `shop` or `admin/reports`, after the global
    /// prefix and compared segment by segment (spec A10). A load or swap of a module with another route is refused. Native
    /// routes of the application are not restricted.
    ///
    /// So no swap can take a path of the user's own, such as `/login`, where the adapter stands in front of it.
    #[must_use]
    pub fn claims(mut self, prefixes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.claims = Some(prefixes.into_iter().map(Into::into).collect());
        self
    }

    /// Says that the modules of the application have channels only, so that no error is logged where none has a route (spec E3).
    #[must_use]
    pub fn without_module_routes(mut self) -> Self {
        self.without_module_routes = true;
        self
    }
}
