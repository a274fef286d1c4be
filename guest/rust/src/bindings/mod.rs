//! The bindings of the contract in `wit/`, generated ahead of time by `tests/bindings.rs`.
//!
//! `imports` has everything that a world imports. Each other module has the exports of one world, with the types of
//! `imports`.

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
