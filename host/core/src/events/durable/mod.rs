//! Durable channels: their emits are recorded in a store, and delivered at least once.

pub(crate) mod channel;
mod deliver;
pub(in crate::events) mod failed;
pub(crate) mod gate;
mod on_bus;
pub(crate) mod options;
mod record;
pub(crate) mod store;
