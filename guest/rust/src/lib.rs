//! Write HTTP controllers in Rust, compile them to sandboxed WebAssembly components, and let Pointwork serve them on the
//! HTTP server that is already there.
//!
//! A controller is a type with an impl block: the block has a path prefix, its functions are the handlers. A channel is
//! one as well: the block has a name, its functions hear events. A module lists its controllers and channels.
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
//! # Channels
//!
//! Who hears an event is a channel, in the host application or in a module; the caller cannot tell (spec C3). In a module
//! it is an impl block with [`#[channel]`](macro@channel), and each function with `#[on(…)]` hears an event:
//!
//! ```
//! use pointwork_guest::{Context, Delivery, Failure, channel, events, module};
//!
//! events! {
//!     /// The name of the product of that id.
//!     pub NameOf = "db:product:name": u64 => Option<String>;
//!     /// Somebody asked for a product that is not there.
//!     pub Missed = "audit:missed": u64;
//! }
//!
//! struct Db;
//!
//! #[channel("db")]
//! impl Db {
//!     #[on(NameOf)]
//!     fn name_of(delivery: &Delivery, id: u64) -> Option<String> {
//!         let name = (id == 7).then(|| "tea".to_owned());
//!         if name.is_none() {
//!             delivery.emit::<Missed>(id);
//!         }
//!         name
//!     }
//! }
//!
//! struct Response;
//!
//! #[channel("response")]
//! impl Response {
//!     /// Replies in the stead of a controller that handed its context over.
//!     #[on("send")]
//!     fn send(context: Context, text: String) -> Result<(), Failure> {
//!         Ok(context.send(text)?)
//!     }
//! }
//!
//! module! { channels: Db, Response }
//! # fn main() {}
//! ```
//!
//! A channel that needs nothing but other events is built like a controller, for `wasm32-unknown-unknown`, and may stand
//! in one module with controllers. One that needs files, sockets, outgoing HTTP, the environment or a clock is a module of
//! its own for `wasm32-wasip2`, and everything of `std` that the target supports works in it. It gets what the
//! configuration of the host grants it, and nothing by default (spec C5): a module that asks for more than it was granted
//! is not loaded. A channel named `server` with `#[on("crashed")]` hears what breaks in the server (spec E2).
//!
//! # Two forms
//!
//! `module! { Products }` is a synchronous module: an instance serves one request or hears one event at a time, and a call
//! suspends it. It is the faster one for handlers that are soon done. `module! { async; Products }` is an asynchronous one:
//! handlers and listeners may be `async fn`, calls are awaited, several at once where the handler joins them, and
//! meanwhile the instance does other work. See [`module!`].
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
//! All of it is an event away: a channel, native or a module of its own for `wasm32-wasip2` with the rights it needs, does
//! it for the controller. A panic is told to the host with message and place, ends the request with 500, and the instance with it.
//!
//! # Features
//!
//! - `testing`: the module `testing`, unit tests of controllers and channels without a host.

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
mod channel;
mod context;
mod controller;
mod delivery;
mod extract;
mod failure;
mod method;
mod module;
mod payload;
mod reply;
mod request;
mod stream;

pub use call_error::CallError;
pub use channel::{BlockingChannel, Channel, Listener};
pub use context::{AsyncContext, Context};
pub use controller::{BlockingController, Controller, Route};
pub use delivery::{AsyncDelivery, Delivery};
pub use extract::{FromBody, FromRequest, Json, Path, Query};
pub use failure::Failure;
/// An HTTP status by its name, such as `HttpStatus::NOT_FOUND`; the type of the `http` crate.
pub use http::StatusCode as HttpStatus;
pub use method::RequestMethod;
pub use payload::Payload;
pub use pointwork_events::{Event, IoEvent, events};
/// Makes an impl block a channel: `#[channel("db")]` (spec C1).
///
/// Its listeners are the functions with one or more `#[on(…)]`; functions without one are left alone. A listener takes no
/// `self`: instances of a module come and go, so what a channel keeps is kept outside, in files, in a database, in the
/// host application.
///
/// `#[on("product:all")]` binds by name, and the signature says what the payload and the result are. The name is the
/// event's own: the rest of the application calls it with the channel's before it, `db:product:all` (spec C2).
/// `#[on(ProductById)]` binds by a type of the event map: then payload and result have to be the event's, or it does not
/// compile (spec H8). If the event's name begins with the channel's, that part is taken off; any other name is the
/// event's own as a whole.
///
/// ```
/// use pointwork_guest::{Delivery, Failure, channel, events, module};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// pub struct Product {
///     id: u64,
///     name: String,
/// }
///
/// events! {
///     /// One product.
///     pub ProductById = "db:product:by-id": u64 => Option<Product>;
///     /// Somebody looked at the product of that id.
///     pub ProductViewed = "product:viewed": u64;
/// }
///
/// #[derive(Deserialize)]
/// struct Window {
///     first: u64,
///     count: u64,
/// }
///
/// struct Db;
///
/// #[channel("db")]
/// impl Db {
///     #[on("product:all")]
///     fn all(window: Window) -> Result<Vec<Product>, Failure> {
///         match window.count {
///             0..=100 => Ok((window.first..window.first + window.count).filter_map(product).collect()),
///             _ => Err(Failure::new(400_u16, "a window has 100 products at most").code("window")),
///         }
///     }
///
///     #[on(ProductById)]
///     fn by_id(delivery: &Delivery, id: u64) -> Option<Product> {
///         delivery.emit::<ProductViewed>(id);
///         product(id)
///     }
/// }
///
/// fn product(id: u64) -> Option<Product> {
///     (id == 7).then(|| Product { id, name: "tea".into() })
/// }
///
/// module! { channels: Db }
/// # fn main() {}
/// ```
///
/// A listener takes what its signature declares, each at most once and in any order:
///
/// | argument | what it gets |
/// |---|---|
/// | [`Delivery`] | the door to further events; in a channel with `async fn` listeners [`AsyncDelivery`] |
/// | [`Context`] | the context that was handed over with the event (spec H6); if there is none, the listener does not run and the caller gets a failure that says so; in a channel with `async fn` listeners [`AsyncContext`] |
/// | `Option<Context>` | the same; `None` if there is none |
/// | [`Payload`] | what the event carries, as it came |
/// | anything that serde can read | what the event carries, read from JSON |
///
/// Each may be taken by reference as well. A payload that does not fit is a failure with the code `bad-payload` and the
/// status 400 that says where and what was expected, and the listener does not run. Without an argument for it the
/// payload is ignored.
///
/// A listener returns `()`, a value that serde can write, a [`Payload`], which is sent as it is, or a `Result` of those
/// whose error converts into [`Failure`].
pub use pointwork_guest_macros::channel;
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
