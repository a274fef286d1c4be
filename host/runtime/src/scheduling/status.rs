//! The state and the usage of a module, as they are reported.

use serde::{Deserialize, Serialize};

/// Whether a module serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ModuleState {
    /// It serves.
    Serving,
    /// It serves, in its canary trial: if its calls fail more often than those of the version before, it is rolled back. See [`Trial`](crate::Trial).
    OnTrial,
    /// All of its calls are refused: its instances cannot be created, or most of its handlers crash. See
    /// [`Breaker`](crate::Breaker).
    HeldBack,
    /// Its instances could not be created, and a few calls are let through to find out whether they can be created now.
    HalfOpen,
}

/// A handler or a listener whose circuit breaker is not closed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct HeldBack {
    /// `Controller.handler`, or `channel:event` of a listener.
    pub name: String,
    /// The state of the breaker.
    pub state: HeldBackState,
    /// The time until the breaker lets calls through, in milliseconds; 0 for a half-open one.
    pub rest: u64,
}

/// The state of a circuit breaker that is not closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum HeldBackState {
    /// Calls are refused.
    Open,
    /// A few calls at a time are let through, and more after each success.
    HalfOpen,
}

/// The calls and instances of one version of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Usage {
    /// Calls that began: requests and events.
    pub calls: u64,
    /// Calls that crashed: traps, and limits of memory, stack, processor time, log lines and events.
    pub crashes: u64,
    /// Calls that an exception of the module's code ended. The instance went on.
    #[serde(default)]
    pub exceptions: u64,
    /// Calls that were refused, because no instance was free or the circuit breaker was open.
    pub refused: u64,
    /// Calls in flight, including those that wait for an instance.
    pub in_flight: usize,
    /// Calls that wait for an instance.
    pub waiting: usize,
    /// Instances, idle or busy.
    pub instances: usize,
    /// Idle instances.
    pub idle: usize,
    /// Contexts, readers and writers of finished requests that idle instances still hold.
    pub held: usize,
    /// The bytes that count against [`ModuleLimits::host_memory`](crate::ModuleLimits::host_memory).
    pub host_memory: u64,
}
