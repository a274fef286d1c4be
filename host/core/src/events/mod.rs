//! Events: their types, and the way of each to its listener.

mod bursts;
pub(crate) mod bus;
pub(crate) mod caller;
pub(crate) mod chain;
pub(crate) mod durable;
pub(crate) mod options;
mod queue;
pub(crate) mod registry;
pub(crate) mod remote;
pub(crate) mod reporter;
pub(crate) mod request_crashes;
pub(crate) mod starting;

pub use pointwork_events::*;
