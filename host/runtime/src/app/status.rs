//! What can be told of the modules at work.

use serde::Serialize;

use crate::ModuleInfo;

/// How a module is at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModuleStatus {
    /// The version that is current.
    pub info: ModuleInfo,
    /// Whether it serves.
    pub state: ModuleState,
    /// When it became current, in milliseconds since 1970-01-01 UTC.
    pub since: u64,
    /// SHA-256 of the version that [`App::roll_back`](crate::App::roll_back) would make current, in hex.
    pub previous: Option<String>,
    /// What its calls use.
    pub usage: Usage,
    /// Versions that were current once and have calls in flight.
    pub draining: Vec<Draining>,
}

/// Whether a module serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ModuleState {
    /// It serves.
    Serving,
    /// It serves, and a few crashes bring the version before it back: see [`Trial`](crate::Trial).
    OnTrial,
    /// It crashed again and again, and is held back for a while: see [`Breaker`](crate::Breaker).
    HeldBack,
}

/// What the calls of a version of a module use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Usage {
    /// Calls that began: requests and events.
    pub calls: u64,
    /// Calls that crashed: traps, limits of memory, stack, processor time, lines and events.
    pub crashes: u64,
    /// Calls that were refused for want of an instance, or because the module is held back.
    pub refused: u64,
    /// Calls in flight, those that wait for an instance included.
    pub in_flight: usize,
    /// Calls that wait for an instance.
    pub waiting: usize,
    /// Instances that are there, idle or not.
    pub instances: usize,
    /// Instances that wait for a call.
    pub idle: usize,
    /// What idle instances still hold of requests that are over: contexts, readers and writers.
    pub held: usize,
}

/// A version of a module that was current once, and has calls in flight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Draining {
    /// SHA-256 of its bytes, in hex.
    pub digest: String,
    /// Its calls in flight.
    pub in_flight: usize,
    /// When they are ended, in milliseconds since 1970-01-01 UTC.
    pub until: u64,
}
