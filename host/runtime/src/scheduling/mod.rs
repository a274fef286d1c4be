//! Threads for guests, the processor time that they use, and what is known of their calls.

pub(crate) mod call_history;
pub(crate) mod meter;
pub(crate) mod metrics;
pub(crate) mod threads;
