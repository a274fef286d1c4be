//! What an embedder may set.

use std::time::Duration;

use crate::Grants;

/// What one module may use. Every limit is on by default.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ModuleLimits {
    /// The linear memory of one instance, in bytes; growing past it fails inside the guest. Default 64 MiB. The pool
    /// of an application reserves for at most [`AppOptions::max_memory`].
    pub memory: usize,
    /// The entries of one table. Default 100,000.
    pub table_elements: usize,
    /// How many instances there may be at a time. Default 128.
    ///
    /// An instance of the synchronous form serves one call at a time, a request or an event, so this is also how many
    /// calls of such a module are in flight; one of the asynchronous form serves [`in_flight`](Self::in_flight). A call
    /// from within a call to the same module does not count: each level of such calls may have as many instances again.
    pub instances: usize,
    /// How many calls may share an instance of the asynchronous form. A trap ends all of them. Default 64.
    pub in_flight: usize,
    /// How long a request or an event waits for an instance before it is refused: 503 for a client, `overloaded` for a
    /// caller. Two modules that call each other wait for each other at most as long. Default 1 s.
    pub queue_wait: Duration,
    /// How long instantiating and reading the declarations may take at load. Default 10 s.
    pub probe: Duration,
}

impl Default for ModuleLimits {
    fn default() -> Self {
        Self {
            memory: 64 * 1024 * 1024,
            table_elements: 100_000,
            instances: 128,
            in_flight: 64,
            queue_wait: Duration::from_secs(1),
            probe: Duration::from_secs(10),
        }
    }
}

/// How one module is loaded.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ModuleOptions {
    /// What it may use; `None` is [`AppOptions::limits`].
    pub limits: Option<ModuleLimits>,
    /// What it may reach beyond the contract. Nothing by default (spec C5).
    pub grants: Grants,
}

impl ModuleOptions {
    /// The application's limits, and no grants.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets limits of the module's own.
    #[must_use]
    pub fn limits(mut self, limits: ModuleLimits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Grants what the module may reach.
    #[must_use]
    pub fn grants(mut self, grants: Grants) -> Self {
        self.grants = grants;
        self
    }
}

/// How an application is set up.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AppOptions {
    /// What holds for every request: body limit, deadline, trailing slashes.
    pub router: pointwork_core::RouterOptions,
    /// How events are carried.
    pub bus: pointwork_core::BusOptions,
    /// What each module may use.
    pub limits: ModuleLimits,
    /// The largest linear memory that the pool has room for, in bytes; at least every module's limit. Default 1 GiB.
    ///
    /// It costs address space, not memory.
    pub max_memory: usize,
    /// How many instances the pool has room for, over all modules. Default 1,000.
    pub max_instances: u32,
}

impl Default for AppOptions {
    fn default() -> Self {
        Self {
            router: pointwork_core::RouterOptions::default(),
            bus: pointwork_core::BusOptions::default(),
            limits: ModuleLimits::default(),
            max_memory: 1024 * 1024 * 1024,
            max_instances: 1_000,
        }
    }
}
