//! The one seam between the SDK and whatever is on the other side of a context.
//!
//! In a module that is the host, through the generated bindings. In a native build, which only unit tests have a use
//! for, it is a stand-in with the same functions (see `testing`). Nothing above this file knows which.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod native;

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use native::{BodyReader, BodyWriter, Context, Delivery, call_from, hand_over, log, waiting};

#[cfg(target_arch = "wasm32")]
pub(crate) use crate::bindings::imports::pointwork::module::{
    context::{BodyReader, BodyWriter, Context, hand_over},
    context_async as waiting,
    events::Delivery,
    events_async::call as call_from,
    log,
};
