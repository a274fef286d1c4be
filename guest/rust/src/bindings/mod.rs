//! Bindings of the contract in `wit/`, generated ahead of time; `tests/bindings.rs` tells how and keeps them fresh.
//!
//! `imports` is what all worlds import. Each other module exports one world and shares the types of `imports`.

#[allow(missing_docs, unreachable_pub, clippy::undocumented_unsafe_blocks, reason = "generated")]
#[rustfmt::skip]
pub mod channel_module;
#[allow(missing_docs, unreachable_pub, clippy::undocumented_unsafe_blocks, reason = "generated")]
#[rustfmt::skip]
pub mod channel_module_async;
#[allow(missing_docs, unreachable_pub, clippy::undocumented_unsafe_blocks, reason = "generated")]
#[rustfmt::skip]
pub mod controller_module;
#[allow(missing_docs, unreachable_pub, clippy::undocumented_unsafe_blocks, reason = "generated")]
#[rustfmt::skip]
pub mod controller_module_async;
#[allow(missing_docs, unreachable_pub, clippy::undocumented_unsafe_blocks, reason = "generated")]
#[rustfmt::skip]
pub mod full_module;
#[allow(missing_docs, unreachable_pub, clippy::undocumented_unsafe_blocks, reason = "generated")]
#[rustfmt::skip]
pub mod full_module_async;
#[allow(missing_docs, unreachable_pub, clippy::undocumented_unsafe_blocks, reason = "generated")]
#[rustfmt::skip]
pub mod imports;

pub use imports::pointwork::module::types;
