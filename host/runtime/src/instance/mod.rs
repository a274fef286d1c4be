//! The instances of a module, and the calls that they serve.

mod async_instance;
mod async_pool;
mod call;
mod crashes;
pub(crate) mod handlers;
mod offload;
mod pool_state;
mod reentrancy;
mod sync_pool;
