//! Write HTTP controllers in Rust, compile them to sandboxed WebAssembly components, and let Pointwork serve them on the
//! HTTP server that is already there.
//!
//! A controller is a type with an impl block: the block has a path prefix, its functions are the handlers. A module lists
//! its controllers.
//!
//! ```
//! use pointwork_guest::{CallError, Context, HttpStatus, Json, Path, Throw, controller, events, module};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize, Deserialize)]
//! pub struct Product {
//!     id: u64,
//!     name: String,
//! }
//!
//! events! {
//!     /// Every product of the shop.
//!     pub AllProducts = "db:product:all": () => Vec<Product>;
//!     /// One product.
//!     pub ProductById = "db:product:by-id": u64 => Option<Product>;
//!     /// Somebody looked at the product of that id.
//!     pub ProductViewed = "product:viewed": u64;
//! }
//!
//! struct Products;
//!
//! #[controller("products")]
//! impl Products {
//!     #[get]
//!     fn list(ctx: &Context) -> Result<Json<Vec<Product>>, CallError> {
//!         ctx.call::<AllProducts>(()).map(Json)
//!     }
//!
//!     #[get(":id")]
//!     fn show(ctx: &Context, id: Path<u64>) -> Result<Json<Product>, Throw> {
//!         match ctx.emit::<ProductViewed>(*id).call::<ProductById>(*id)? {
//!             Some(product) => Ok(Json(product)),
//!             None => ctx.throw(HttpStatus::NOT_FOUND, "no such product"),
//!         }
//!     }
//!
//!     #[post]
//!     fn create(product: Json<Product>) -> (HttpStatus, Json<Product>) {
//!         (HttpStatus::CREATED, product)
//!     }
//! }
//!
//! module! { Products }
//! # fn main() {}
//! ```
//!
//! # Handlers
//!
//! A handler is a function of the block with one or more [attributes]; a function without one is no handler. It takes no
//! `self`: instances of a module come and go, so a controller holds no state. It takes what its signature declares, in
//! any order:
//!
//! - [`Context`] or `&Context` (in a controller with `async fn` handlers [`AsyncContext`]): everything about the request,
//!   and all that a controller can do;
//! - [`Path<T>`](Path), the path parameter of the argument's name, and [`Query<T>`](Query);
//! - one of [`Json<T>`](Json), `String` and `Vec<u8>`, the body;
//! - what implements [`FromRequest`] or [`FromBody`].
//!
//! What cannot be read is 400 with a message that says where and what was expected, and the handler does not run. What a
//! handler may return is listed at [`IntoOutcome`] and [`IntoReply`].
//!
//! # Events
//!
//! A controller reaches everything outside itself by name: [`Context::call`] waits for what the listener returns,
//! [`Context::emit`] does not, [`Context::hand_over`] lets the listener reply. [`events!`] declares the names with their
//! types, once for guests and host.
//!
//! # Two forms
//!
//! `module! { Products }` is a synchronous module: an instance serves one request at a time, and a call suspends it. It
//! is the faster one for handlers that are soon done. `module! { async; Products }` is an asynchronous one: handlers may
//! be `async fn`, calls are awaited, and meanwhile the instance serves other requests. See [`module!`].
//!
//! # What is not there
//!
//! Controllers are built for `wasm32-unknown-unknown`, and a controller's world imports nothing but the context and the
//! log. That is the proof that it has no side effects, and it means that these are missing:
//!
//! - no clock: `SystemTime::now()` and `Instant::now()` panic. Let the host stamp what needs a time, in a channel.
//! - no randomness: `getrandom` and what stands on it (`uuid` v4, `rand`) do not compile or fail. `HashMap` works, with
//!   keys that are the same in every instance.
//! - no environment, files, sockets or threads: `std::env::var` finds nothing, `std::fs` and `std::net` fail,
//!   `std::thread::spawn` fails.
//! - no standard output: `println!` goes nowhere. Use [`log`](mod@log).
//!
//! All of it is an event away: a channel, native or a module of its own with the rights it needs, does it for the
//! controller. A panic is told to the host with message and place, ends the request with 500, and the instance with it.
//!
//! # Features
//!
//! - `testing`: the module `testing`, unit tests of a controller without a host.

#[doc(hidden)]
#[path = "private/mod.rs"]
pub mod __private;
pub mod attributes;
#[doc(hidden)]
pub mod bindings;
pub mod form;
pub mod log;
#[cfg(all(feature = "testing", not(target_arch = "wasm32")))]
pub mod testing;

mod backend;
mod call_error;
mod context;
mod controller;
mod extract;
mod method;
mod module;
mod payload;
mod reply;
mod request;
mod stream;

pub use call_error::CallError;
pub use context::{AsyncContext, Context};
pub use controller::{BlockingController, Controller, Route};
pub use extract::{FromBody, FromRequest, Json, Path, Query};
/// An HTTP status by its name, such as `HttpStatus::NOT_FOUND`; the type of the `http` crate.
pub use http::StatusCode as HttpStatus;
pub use method::RequestMethod;
pub use pointwork_events::{Event, IoEvent, events};
/// Makes an impl block a controller: `#[controller("products")]`, or `#[controller]` for the prefix `/` (spec D1).
///
/// Its handlers are the functions with an attribute of [`attributes`]; functions without one are left alone (spec D7, D8).
/// A path is joined to the prefix, with or without slashes at the seam. `:name` captures one segment, `*name` as the last
/// segment the rest; a literal beats both.
///
/// ```
/// use pointwork_guest::{Path, RequestMethod, controller};
///
/// struct Files;
///
/// #[controller("files")]
/// impl Files {
///     #[get]
///     fn list() -> &'static str {
///         "all files"
///     }
///
///     #[get([":name", ":name/raw"])]
///     #[request_mapping(path = ":name", method = RequestMethod::Propfind)]
///     fn show(name: Path<String>) -> String {
///         format!("file {}", *name)
///     }
///
///     #[all("*rest")]
///     fn other(rest: Path<String>) -> String {
///         format!("nothing at {}", *rest)
///     }
/// }
/// ```
pub use pointwork_guest_macros::controller;
pub use reply::{Deferred, IntoOutcome, IntoReply, Outcome, Reply, Throw};
pub use request::Request;
pub use stream::{BodyReader, BodyWriter};
