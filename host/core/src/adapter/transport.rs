//! The contract between the application and an adapter.

use std::sync::Arc;

use crate::routing::{MethodFilter, Pattern};
use crate::{Error, Reporter, Router};

/// Binds routes to one HTTP server framework. Every adapter implements it.
///
/// The application calls [`attach`](Self::attach) once, then [`stage`](Self::stage) for the first table and for every later
/// one. The adapter answers each request with [`Router::respond`] on the router that it published last, and keeps that
/// router for the whole request: a request ends on the table on which it began (spec S1).
pub trait Transport: Send + Sync + 'static {
    /// The adapter's name in logs, in `server:crashed` and on the command line: `hyper`, `axum`, ….
    fn name(&self) -> &'static str;

    /// Runs before the first table. The reporter is for failures of the adapter itself; it may be kept. The prefix is the
    /// global prefix at this moment: below it the adapter answers everything where it is mounted so.
    ///
    /// # Errors
    /// [`Adapter`](crate::ErrorKind::Adapter) if the adapter was connected before.
    fn attach(&self, reporter: Reporter, prefix: Pattern) -> Result<(), Error>;

    /// Whether the framework can serve routes of that method; runs for every route of every table, and must not block. A
    /// route that it cannot serve is shown as unavailable and warned of once (spec A3). The default serves every method.
    fn supports_method(&self, method: &MethodFilter) -> bool {
        let _ = method;
        true
    }

    /// Whether requests for a route of that pattern reach the adapter, the way it is mounted; as [`supports_method`](Self::supports_method).
    fn covers_path(&self, pattern: &Pattern) -> bool {
        let _ = pattern;
        true
    }

    /// Prepares a table. No request may see it until the result is published, which cannot fail: so several adapters change
    /// together, or none does. It may take long, but must not wait for requests.
    ///
    /// # Errors
    /// [`Adapter`](crate::ErrorKind::Adapter) if the framework refuses the table.
    fn stage(&self, router: Arc<Router>) -> Result<Staged, Error>;

    /// Drops the table: the application was closed. From now on the adapter answers 503 below its prefix, and passes
    /// everything on where it stands in front of its user's own routes.
    fn close(&self);
}

/// A table that an adapter has prepared; dropping it changes nothing.
#[derive(derive_more::Debug)]
#[debug("Staged")]
#[must_use = "a staged table serves no request until it is published"]
pub struct Staged(Box<dyn FnOnce() + Send>);

impl Staged {
    /// Wraps the one store that makes the table visible.
    pub fn new(publish: impl FnOnce() + Send + 'static) -> Self {
        Self(Box::new(publish))
    }

    /// Makes the table visible: the next request sees the whole of it.
    pub fn publish(self) {
        (self.0)();
    }
}
