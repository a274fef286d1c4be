//! What the macros expand to. Not part of the public API: it changes without notice.

mod argument;
#[cfg(target_arch = "wasm32")]
mod declaration;
mod event;
#[cfg(target_arch = "wasm32")]
mod exports;
mod glue;
mod heard;
mod heard_result;
mod module;
#[cfg(target_arch = "wasm32")]
mod panic;
mod parts;

pub use argument::{Argument, Kind, has_param, ready, ready_blocking};
#[cfg(target_arch = "wasm32")]
pub use declaration::{ChannelDeclaration, ControllerDeclaration};
pub use event::{is_first, is_own_name, own_name};
pub use glue::{into_blocking, into_blocking_delivery, unknown_handler, unknown_listener};
pub use heard::{Heard, HeardKind, check_payload};
pub use heard_result::{answer, answer_result, check_output, check_result};
pub use parts::{AsyncChannels, AsyncControllers, BlockingChannels, BlockingControllers, Channels, Controllers};
