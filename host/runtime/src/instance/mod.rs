//! The instances of a module, and the calls that they serve.

pub(crate) mod async_pool;
pub(crate) mod call;
pub(crate) mod offload;
pub(crate) mod reentrancy;
pub(crate) mod sync_pool;
