//! The contract in Rust, generated ahead of time by `tests/bindings.rs`.

#[cfg(target_arch = "wasm32")]
#[allow(missing_docs, unreachable_pub, clippy::wildcard_imports, reason = "generated")]
#[rustfmt::skip]
pub mod imports;
#[allow(missing_docs, reason = "generated")]
#[rustfmt::skip]
pub mod types;
#[cfg(target_arch = "wasm32")]
#[allow(missing_docs, reason = "generated")]
#[rustfmt::skip]
pub mod worlds;
