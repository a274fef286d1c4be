//! What the macros expand to. Not part of the public API: it changes without notice.

mod argument;
#[cfg(target_arch = "wasm32")]
mod exports;
mod glue;
#[cfg(target_arch = "wasm32")]
mod panic;

pub use argument::{Argument, Kind, has_param, ready, ready_blocking};
#[cfg(target_arch = "wasm32")]
pub use exports::{Declaration, asynchronous, begin, blocking};
pub use glue::{into_blocking, unknown_handler};
