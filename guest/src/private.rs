//! What the macros expand to. Not part of the public API: it changes without notice.

mod argument;
mod glue;
#[cfg(target_arch = "wasm32")]
mod panic;

pub use argument::{Argument, Kind, has_param, ready, ready_blocking};
pub use glue::{Declaration, asynchronous, begin, blocking, unknown_handler};
