//! The other side of a context: the host in a module, a stand-in in native builds.
//!
//! In a module the functions are the generated bindings. Native builds, which only unit tests run, have a stand-in with
//! the same functions (see `testing`). The rest of the SDK is the same for both.

#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod native;

#[cfg(not(target_arch = "wasm32"))]
pub(crate) use native::{
    NativeBodyReader as BodyReader, NativeBodyWriter as BodyWriter, NativeContext as Context,
    NativeDelivery as Delivery, blocking, environment, hand_over, log, waiting,
};

#[cfg(target_arch = "wasm32")]
pub(crate) use crate::bindings::imports::{
    context::{BodyReader, BodyWriter, Context},
    environment,
    events::Delivery,
    log,
};

/// The functions that suspend the instance while they wait.
#[cfg(target_arch = "wasm32")]
pub(crate) mod blocking {
    pub(crate) use crate::bindings::imports::context_sync::{body, call, finish, read, text, write};
    pub(crate) use crate::bindings::imports::events_sync::call as call_from;
}

/// The functions that are awaited.
#[cfg(target_arch = "wasm32")]
pub(crate) mod waiting {
    pub(crate) use crate::bindings::imports::context_async::{body, call, closed, finish, read, text, write};
    pub(crate) use crate::bindings::imports::events_async::call as call_from;
}

/// Gives the context to the listener of `event`.
#[cfg(target_arch = "wasm32")]
pub(crate) fn hand_over(
    event: &str,
    context: Context,
    payload: &crate::bindings::types::Payload,
) -> Result<(), crate::bindings::types::Failure> {
    crate::bindings::imports::context::hand_over(event, context.into_handle(), payload)
}
