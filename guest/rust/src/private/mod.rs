//! The items that the macros expand to. Not part of the public API: they change without notice.

/// The second step of an argument that is complete after the first.
macro_rules! is_ready {
    ($source:ty) => {
        type Ready = Self;

        fn finish(ready: Self, _source: &mut Option<$source>) -> Self {
            ready
        }
    };
}

mod event_name;
#[cfg(target_arch = "wasm32")]
pub mod exports;
mod guards;
mod handler_argument;
mod listener_argument;
mod listener_result;
mod module;
#[cfg(feature = "multipart")]
mod multipart_argument;
#[cfg(target_arch = "wasm32")]
mod output;
#[cfg(target_arch = "wasm32")]
mod panic;
mod returned;
mod routes;
mod run_time;
mod served;
mod taken;
mod text;
mod uses;

pub use crate::guard::DeclaredGuard;
pub use event_name::{is_first, is_own_name, own_name};
pub use guards::{
    GuardResult, Needed, events, events_length, first_unfit, guard, guard_now, metadata, metadata_length, now,
    outcome_now, result, result_now, shaped,
};
pub use handler_argument::{FormOf, HandlerArgument, NotAsync};
pub use listener_argument::{ListenerArgument, check_payload};
pub use listener_result::{answer, answer_result, check_output, check_result};
pub use module::{
    AsyncModule, BlockingModule, DeclaredChannel, DeclaredController, MODULE_PARTS, Module, asynchronous, blocking,
    first_blocking, first_unfit_guard, first_without_context, places, unknown_handler, unknown_listener,
};
pub use returned::{NeverRefuses, NotReturned, Returned, check_context};
pub use routes::{PARTS, conflict, count};
pub use run_time::{NamedCalls, emit_named, emit_named_from, hand_over_named, unchecked_reply};
pub use served::{NotListable, Served};
pub use taken::{Taken, Unconstrained};
pub use text::{is_read, joined, length, text};
pub use uses::{EventName, NotAnEvent};

pub use crate::variables::{GivenVariables, NeededVariable};

/// The kinds of arguments. A handler or listener takes each kind at most once, except for the first three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgumentKind {
    /// Read from the request without its body.
    Request,
    /// Read from the path parameter with the name of the argument.
    PathParam,
    /// The same, if the path that matched has the parameter.
    OptionalParam,
    Body,
    Context,
    Delivery,
    Payload,
}
