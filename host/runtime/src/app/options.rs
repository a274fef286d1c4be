//! The options of an application and of a module.

use std::time::Duration;

use pointwork_core::{BusOptions, RouterOptions, limits};

use crate::component::link::ModuleSettings;
pub(crate) use crate::limits::{Breaker, CompileOptions, Isolation, ModuleLimits, Trial};
use crate::{CacheDirectory, Grants, StateDirectory};

limits! {
    /// The options of an application.
    #[derive(Clone, Debug)]
    pub struct AppOptions {
        /// The largest linear memory that the pool has room for; at least every module's limit. It takes address space, not
        /// memory.
        max_memory: usize = bytes(1 GiB) as "max-memory" in_program;
        /// The number of instances that the pool has room for, over all modules.
        max_instances: u32 = count(1_000) as "max-instances" in_program;
    } and {
        /// The limits of every request, and how paths are read.
        router: RouterOptions = RouterOptions::default();
        /// The limits of events.
        bus: BusOptions = BusOptions::default();
        /// The limits of a module without limits of its own.
        limits: ModuleLimits = ModuleLimits::default();
        /// The limits of compiling.
        compile: CompileOptions = CompileOptions::default();
        /// The directory of compiled components, which need not be compiled at the next start. Default: `None`.
        cache: Option<CacheDirectory> = None;
        /// The directory that keeps the current version of each module. Default: `None`; the application starts with what
        /// is loaded.
        state: Option<StateDirectory> = None;
    }
}

limits! {
    /// How one module is loaded.
    #[derive(Clone, Debug)]
    pub struct ModuleOptions {
        /// The time that calls of a replaced or removed version may go on; past it they end with 503, and the version is
        /// freed.
        drain: Duration = time(30 s) as "drain";
    } and {
        /// The limits of the module. Default: `None`, those of [`AppOptions::limits`].
        limits: Option<ModuleLimits> = None;
        /// The capabilities beyond the contract. Default: none (spec C5).
        grants: Grants = Grants::default();
        /// Whether its calls share instances. Default: `None`, which is [`Isolation::Shared`] for an asynchronous module and
        /// [`Isolation::Exclusive`] for a synchronous one.
        isolation: Option<Isolation> = None;
        /// The circuit breaker.
        breaker: Breaker = Breaker::default();
        /// The trial of a new version.
        trial: Trial = Trial::default();
        /// The path of one of the module's own GET routes, without the global prefix. It is requested before the module is
        /// published; a reply of 400 or more refuses the module. Default: `None`.
        ///
        /// The request sees the application's channels as they are before the change.
        health: Option<String> = None;
        /// The SHA-256 of the component in hex; a component with another one is refused. Default: `None`. A swap names the
        /// digest of the new version.
        digest: Option<String> = None;
    }
}

impl ModuleOptions {
    /// The application's limits, and no grants.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: ModuleLimits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// Sets the grants.
    #[must_use]
    pub fn grants(mut self, grants: Grants) -> Self {
        self.grants = grants;
        self
    }

    /// Sets whether calls share instances.
    #[must_use]
    pub fn isolation(mut self, isolation: Isolation) -> Self {
        self.isolation = Some(isolation);
        self
    }

    /// Sets the circuit breaker.
    #[must_use]
    pub fn breaker(mut self, breaker: Breaker) -> Self {
        self.breaker = breaker;
        self
    }

    /// Sets the trial of a new version.
    #[must_use]
    pub fn trial(mut self, trial: Trial) -> Self {
        self.trial = trial;
        self
    }

    /// Sets the time that calls of a replaced version may go on.
    #[must_use]
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Sets the path that is requested before the module is published.
    #[must_use]
    pub fn health(mut self, path: impl Into<String>) -> Self {
        self.health = Some(path.into());
        self
    }

    /// Sets the digest of the component.
    #[must_use]
    pub fn digest(mut self, digest: impl Into<String>) -> Self {
        self.digest = Some(digest.into());
        self
    }

    /// The options that a component is linked with; `limits` are those of the application.
    pub(crate) fn settings(&self, limits: &ModuleLimits) -> ModuleSettings {
        ModuleSettings {
            limits: self.limits.as_ref().unwrap_or(limits).clone(),
            isolation: self.isolation,
            breaker: self.breaker.clone(),
            trial: self.trial.clone(),
            grants: self.grants.clone(),
        }
    }
}
