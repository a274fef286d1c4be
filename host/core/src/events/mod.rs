//! Events: their types, and the way of each to its listener.

pub(crate) mod bus;
pub(crate) mod chain;
pub(crate) mod options;
pub(crate) mod payload;
pub(crate) mod queue;
pub(crate) mod registry;

pub use pointwork_events::*;
