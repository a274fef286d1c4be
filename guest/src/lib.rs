//! Write HTTP controllers in Rust and compile them to sandboxed WebAssembly components.

#[doc(hidden)]
#[allow(unused)]
pub mod bindings;
#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

mod backend;
mod call_error;
mod context;
mod controller;
mod extract;
pub mod form;
pub mod log;
mod method;
mod module;
mod payload;
mod reply;
mod request;
mod stream;
#[cfg(all(feature = "testing", not(target_arch = "wasm32")))]
pub mod testing;

pub use call_error::CallError;
pub use context::{AsyncContext, Context};
pub use controller::{BlockingController, Controller, Route};
pub use extract::{FromBody, FromRequest, Json, Path, Query};
/// An HTTP status by its name, such as `HttpStatus::NOT_FOUND`; the type of the `http` crate.
pub use http::StatusCode as HttpStatus;
pub use method::RequestMethod;
pub use pointwork_events::{Event, IoEvent, events};
pub use pointwork_guest_macros::controller;
pub use reply::{Deferred, IntoOutcome, IntoReply, Outcome, Reply, Throw};
pub use request::Request;
pub use stream::{BodyReader, BodyWriter};
