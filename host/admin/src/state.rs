//! The options of an endpoint, and the state that its requests share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use pointwork::{App, ModuleOptions};

use crate::Token;
use crate::changes::Changes;

/// The state of an endpoint, as its handlers get it.
pub(crate) type Shared = Arc<SharedState>;

#[derive(Debug)]
pub(crate) struct SharedState {
    pub(crate) app: App,
    pub(crate) options: AdminOptions,
    pub(crate) changes: Arc<Changes>,
}

/// The options of an endpoint.
#[derive(Clone)]
#[non_exhaustive]
pub struct AdminOptions {
    /// The token that every request needs. Default `None`, which is enough for a Unix socket.
    pub token: Option<Token>,
    /// The largest component, in bytes. Default 64 MiB; the application may allow less
    /// ([`CompileOptions::size`](pointwork::CompileOptions::size)).
    pub component_limit: usize,
    /// The longest pause of a client that sends a component. Default 30 s.
    pub body_timeout: Duration,
    /// The time for requests in flight at a graceful shutdown. Default 10 s.
    pub shutdown_grace: Duration,
    /// The options of a module that is loaded, by its name. Default: [`ModuleOptions::new`] for every name.
    pub module_options: Arc<dyn Fn(&str) -> ModuleOptions + Send + Sync>,
    /// The number of lines of its log that the program dropped, for `GET /metrics`. Default `None`: the program has no such
    /// counter, and the metrics do not have it.
    pub dropped_log_lines: Option<Arc<AtomicU64>>,
}

impl AdminOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets [`token`](field@Self::token).
    #[must_use]
    pub fn token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    /// Sets [`component_limit`](field@Self::component_limit).
    #[must_use]
    pub fn component_limit(mut self, bytes: usize) -> Self {
        self.component_limit = bytes;
        self
    }

    /// Sets [`body_timeout`](field@Self::body_timeout).
    #[must_use]
    pub fn body_timeout(mut self, time: Duration) -> Self {
        self.body_timeout = time;
        self
    }

    /// Sets [`shutdown_grace`](field@Self::shutdown_grace).
    #[must_use]
    pub fn shutdown_grace(mut self, time: Duration) -> Self {
        self.shutdown_grace = time;
        self
    }

    /// Sets [`module_options`](field@Self::module_options).
    #[must_use]
    pub fn module_options(mut self, options: impl Fn(&str) -> ModuleOptions + Send + Sync + 'static) -> Self {
        self.module_options = Arc::new(options);
        self
    }

    /// Sets [`dropped_log_lines`](field@Self::dropped_log_lines).
    #[must_use]
    pub fn dropped_log_lines(mut self, count: Arc<AtomicU64>) -> Self {
        self.dropped_log_lines = Some(count);
        self
    }
}

impl Default for AdminOptions {
    fn default() -> Self {
        Self {
            token: None,
            component_limit: 64 * 1024 * 1024,
            body_timeout: Duration::from_secs(30),
            shutdown_grace: Duration::from_secs(10),
            module_options: Arc::new(|_| ModuleOptions::new()),
            dropped_log_lines: None,
        }
    }
}

impl fmt::Debug for AdminOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdminOptions")
            .field("token", &self.token)
            .field("component_limit", &self.component_limit)
            .field("body_timeout", &self.body_timeout)
            .field("shutdown_grace", &self.shutdown_grace)
            .finish_non_exhaustive()
    }
}
