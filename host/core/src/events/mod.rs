//! Events: their types, and the way of each to its listener.

mod bursts;
pub(crate) mod bus;
pub(crate) mod caller;
pub(crate) mod chain;
pub(crate) mod options;
mod queue;
pub(crate) mod registry;
pub(crate) mod reporter;
pub(crate) mod request_crashes;

pub use pointwork_events::*;
