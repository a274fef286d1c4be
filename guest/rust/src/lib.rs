//! The Rust SDK of Pointwork: write HTTP controllers and event channels, and compile them to sandboxed WebAssembly
//! components, which Pointwork serves on the HTTP server that you already run.
//!
//! A controller is an impl block with a path prefix, whose functions are handlers. A channel is an impl block with a
//! name, whose functions listen to events. A module lists its controllers and channels.
//!
//! ```
//! use pointwork_guest::{Context, Failure, HttpStatus, Json, Path, controller, events, module};
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
//!     /// The product of that id was viewed.
//!     pub ProductViewed = "product:viewed": u64;
//! }
//!
//! struct Products;
//!
//! #[controller("products")]
//! impl Products {
//!     #[get]
//!     fn list(ctx: &Context) -> Result<Json<Vec<Product>>, Failure> {
//!         ctx.call::<AllProducts>(()).map(Json)
//!     }
//!
//!     #[get(":id")]
//!     fn show(ctx: &Context, id: Path<u64>) -> Result<Json<Product>, Failure> {
//!         match ctx.emit::<ProductViewed>(*id).call::<ProductById>(*id)? {
//!             Some(product) => Ok(Json(product)),
//!             None => Err(ctx.throw(HttpStatus::NOT_FOUND, "no such product").detail("id", *id)),
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
//! A handler is a function of the block with one or more [attributes]. It takes no `self`, since a controller has no
//! state: instances of a module are created and dropped at any time. Its arguments are, in any order:
//!
//! - [`Context`] or `&Context` ([`AsyncContext`] in an asynchronous module): the request, its reply, and
//!   everything else that a controller can do;
//! - [`Path<T>`](Path), the path parameter with the argument's name, [`Params<T>`](Params), all path parameters, [`Query<T>`](Query)
//!   [`Bearer`], a token, and [`HeaderMap`], all headers;
//! - one of [`Json<T>`](Json), [`Form<T>`](Form), [`JsonOrForm<T>`](JsonOrForm), `String` and `Vec<u8>`, the body;
//! - [`Guarded<G>`](Guarded), the value of a [guard](macro@guard);
//! - types that implement [`FromRequest`], [`FromBody`] or [`FromContext`];
//! - `Option` of them, `None` if the request does not have the value, and `Result<…, Failure>`.
//!
//! If an argument cannot be read, the handler does not run, and the reply is 400 with the position and what was
//! expected. A handler that takes a `Result` runs and gets the failure. [`IntoOutcome`] and [`IntoReply`] list the return types.
//!
//! A [guard](macro@guard) runs before handlers, an [after-hook](macro@after) after them. A handler that returns nothing replies
//! through its context; without one it does not compile.
//!
//! Every error is a [`Failure`]: [`Context::throw`] makes one, calls and bodies return one, and a handler or listener
//! returns it, or an error of yours that converts into it.
//!
//! # The manifest
//!
//! The host reads what a module declares before it runs a handler: its routes and events, the name, version and
//! description of its package, the events that it uses (see [`module!`]), and metadata. The first paragraph of the docs of
//! a block, a handler or a listener is its `summary`, the rest its `description`; `#[deprecated]` is `deprecated`. Clients
//! of the host's administration see them.
//!
//! # Events
//!
//! A controller reaches everything outside itself through events: [`Context::call`] waits for the result of the
//! listener, [`Context::emit`] does not wait, and with [`Context::hand_over`] the listener replies to the request.
//! [`events!`] declares the names with their types, once for guests and host.
//!
//! # Channels
//!
//! A channel listens to events, in the host application or in a module; callers cannot tell the difference.
//! In a module it is an impl block with [`#[channel]`](macro@channel), whose functions with `#[on(…)]` are the
//! listeners, and the module lists it behind `channels:`.
//!
//! A channel that needs only other events is built like a controller, for `wasm32-wasip1`, and may be in one module with
//! controllers. A channel that needs files, sockets, outgoing HTTP or a running clock is a module of its own for
//! `wasm32-wasip2`, where `std` works as far as the target supports it. The configuration of the host
//! grants what it may use; the default is nothing. A module that imports more than it was granted is not
//! loaded. A channel named `server` with `#[on("crashed")]` gets the errors of the server.
//!
//! # Synchronous and asynchronous modules
//!
//! `module! { Products }` is a synchronous module: an instance handles one request or event at a time, and a call
//! suspends it. In an asynchronous module, `module! { async; Products }`, calls are awaited, several at once if the
//! handler joins them. [`module!`] says when to use which.
//!
//! # The standard library in controllers
//!
//! Controllers are built for `wasm32-wasip1`, and `pointwork build` answers what the standard library imports there by the
//! contract. So the component imports nothing but the contract, which proves that it has no side effects, and most of `std` and
//! of the crates that use it work:
//!
//! - standard streams: `println!`, `eprintln!` and `dbg!` write lines of the host's log, at the levels info and warn, within the
//!   span of their request. [`log`](mod@log) has levels and fields. `std::io::stdin` is empty.
//! - clocks: `SystemTime::now()` and `Instant::now()` are the time at which the request or the event arrived, and stand still
//!   within a call. To measure time, call a channel.
//! - randomness: `HashMap`, `getrandom` and the crates that use it (`uuid` v4, `rand`) have random bits of the host.
//! - environment: `std::env::var` has the variables of the module's configuration, which [`Variables`] reads by type; there are
//!   no arguments.
//! - files and sockets: `std::fs` and `std::net` return errors, and so does `std::process::Command`.
//! - threads: `std::thread::spawn` returns an error. What waits for another thread panics or never ends.
//! - `std::thread::sleep` and `std::process::exit` trap: the client gets 500, the log says why.
//!
//! Before the first call, and in `describe`, time and random bits are constants, and there are no variables.
//!
//! For files, sockets, waiting and measuring, call a channel: a native one, or a module for `wasm32-wasip2` with the grants
//! that it needs.
//!
//! A panic ends the request with 500 and the instance. Its message and location are in the host's log.
//!
//! # Declarations
//!
//! The SDK enforces each declaration, or refuses it when the module is compiled, with the form that is right. The tests are those of
//! this crate, in `tests`: a file of `tests/ui` has declarations that do not compile.
//!
//! | declaration | the SDK | test |
//! |---|---|---|
//! | prefix of a controller, paths | refuses an invalid pattern, and the parameters of other frameworks (`{id}`, `<id>`, `[id]`) | `ui/paths.rs`, `ui/prefix.rs` |
//! | method of a route | refuses an unknown method, attribute or case (`#[GET]`) | `ui/unknown_verb.rs`, `ui/unknown_method.rs`, `ui/request_mapping.rs` |
//! | options of an attribute | refuses an unknown option, and one that is given twice | `ui/options.rs`, `ui/arguments.rs`, `ui/body_modes.rs` |
//! | an attribute outside its block, a block that is in no list | refuses the attribute; `pointwork build` warns of the block | `ui/outside_controller.rs`, `ui/outside_channel.rs`, `ui/trait_impl.rs` |
//! | two routes or listeners for the same | refuses the second | `ui/duplicate_routes.rs`, `ui/duplicate_routes_of_two_controllers.rs`, `ui/event_names.rs`, `ui/module_twice.rs` |
//! | [`Path`] | refuses a path without the parameter, parses the value | `ui/missing_parameter.rs`, `ui/optional_parameter.rs`, `extractors.rs` |
//! | [`Path`] of a guard or hook, [`Params`] | replies 500 if the path has other parameters, and logs it | `enforced.rs`, `extractors.rs` |
//! | types, enums, `default`, `alias`, `rename`, `deny_unknown_fields` and other attributes of serde | enforces them in bodies, forms, queries, parameters and payloads | `enforced.rs`, `ui/json_types.rs`, `ui/argument_types.rs` |
//! | a number or a boolean in `#[serde(flatten)]` of a form or query | replies 400, since serde reads a text there: write the fields out | `enforced.rs` |
//! | constraints of `garde` | enforces them in `Valid`, refuses a type with constraints elsewhere | `enforced.rs`, `ui/constraints.rs` |
//! | the body: its argument, `body = …`, `open_body` | refuses two bodies, and a body that a request does not have; warns of `open_body` without `stream` | `ui/two_bodies.rs`, `ui/body_arguments.rs`, `ui/body_modes.rs`, `ui/open_body.rs` |
//! | guards | enforces them in order, refuses values that may mean "no", futures, and calls whose result is dropped | `guards.rs`, `ui/guards.rs`, `ui/guard_values.rs`, `ui/guard_futures.rs`, `ui/guard_drops.rs` |
//! | [`Guarded`] | enforces the guard, refuses `Option<Guarded<…>>` | `guards.rs`, `ui/guarded.rs`, `ui/no_guard.rs` |
//! | after-hooks, `errors:` | enforces them, refuses a hook that needs a context that is gone | `guards.rs`, `ui/guards.rs`, `ui/inherited.rs` |
//! | the form, `async` | refuses code of the other form | `ui/async_in_sync_module.rs`, `ui/blocking_context_in_async_module.rs`, `ui/guards_of_the_other_form.rs` |
//! | the return type | refuses a type without a reply, and nothing without a context | `ui/return_type.rs`, `ui/no_reply.rs`, `ui/error_type.rs`, `ui/sse.rs` |
//! | status and headers of a reply | replies 500 `invalid-reply` for one that HTTP does not have, and logs the place | `replies.rs` |
//! | `self`, type parameters, `unsafe`, `#[cfg]` of a handler or listener | refuses them | `ui/signatures.rs`, `ui/listener_signatures.rs`, `ui/generic_controller.rs` |
//! | names of channels and events | refuses an invalid name | `ui/channel_arguments.rs`, `ui/on_arguments.rs`, `ui/events.rs` |
//! | types of an event | refuses another payload or result, of a call and of a listener; checks what arrives | `ui/event_types.rs`, `ui/listener_types.rs`, `enforced.rs`, `hostile_input.rs` |
//! | [`module!`] | refuses unknown parts, and types without a block | `ui/module.rs`, `ui/options.rs`, `ui/uses.rs`, `ui/no_handler.rs` |
//! | variables: names, types, defaults | enforces them, refuses a name or a default that is given twice | `variables.rs`, `ui/variables.rs` |
//! | docs, `#[deprecated]` | puts them into the manifest | `declarations.rs` |
//!
//! Two declarations are out of reach: a constraint in a type that a type without `Validate` has as a field, and an attribute of serde on
//! a struct of [`Variables`](trait@Variables), which serde alone reads.
//!
//! # Features
//!
//! None is on by default. Handlers pay for what they use.
//!
//! - `cookies`: `Cookies`, plain and signed, and the crate `cookie`.
//! - `garde`: `Valid`, which validates other arguments by the crate `garde`.
//! - `headers`: `TypedHeader`, for the headers of the crate `headers`.
//! - `multipart`: `Multipart`, bodies with files.
//! - `testing`: the module `testing`, for unit tests of controllers and channels without a host.

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

mod abi;
mod backend;
mod channel;
mod conditional;
mod context;
mod controller;
#[cfg(feature = "cookies")]
mod cookies;
mod delivery;
mod extract;
mod failure;
mod guard;
mod guards_run;
mod header;
mod json;
mod method;
mod module;
#[cfg(feature = "multipart")]
mod multipart;
mod payload;
mod reply;
mod request;
mod stream;
mod streamed;
#[cfg(feature = "headers")]
mod typed_header;
#[cfg(feature = "garde")]
mod valid;
mod variables;
mod waiting;

pub use channel::{BlockingChannel, Channel, Listener};
pub use conditional::{Conditions, ETag, LastModified, Unmodified, Validators};
pub use context::{AsyncContext, Context};
pub use controller::{BlockingController, Controller, Metadata, Route};
#[cfg(feature = "cookies")]
pub use cookie;
#[cfg(feature = "cookies")]
pub use cookies::{CookieKey, Cookies};
pub use delivery::{AsyncDelivery, Delivery};
pub use extract::{
    Bearer, Form, FromBody, FromContext, FromRequest, JsonOrForm, OptionalFromContext, OptionalFromRequest, Params,
    Path, Query, RequestBody,
};
pub use failure::{Failure, IntoFailure};
pub use guard::{AfterHook, Guard, Guarded};
#[cfg(feature = "headers")]
pub use headers;
/// An HTTP status, such as `HttpStatus::NOT_FOUND`: `StatusCode` of the crate `http`.
pub use http::StatusCode as HttpStatus;
pub use http::{HeaderMap, HeaderName, HeaderValue};
pub use json::Json;
pub use method::RequestMethod;
#[cfg(feature = "multipart")]
pub use multipart::{AsyncMultipart, Multipart, Part};
pub use pointwork_events::{Event, EventData, IoEvent, Payload, PayloadError, events};
pub use pointwork_guest_macros::Variables;
/// Makes an impl block an after-hook, which sees what became of a request and may change it.
///
/// Its function `after` takes the outcome last: by value to return another one, or by reference to see it only. The
/// arguments before it are those of a guard; a hook with such arguments needs handlers that take the context by
/// reference. It runs for replies, and for the errors of handlers, arguments and guards; a reply with a wrong header is such
/// an error, `invalid-reply`, and so is one that a hook makes. What a handler sends by itself stays as it is, and is
/// `Outcome::Deferred`.
///
/// `#[controller("orders", after = NoStore)]` is for all handlers of the block, `#[after(NoStore)]` for one function,
/// `#[after(none)]` leaves out those of the block, and `module! { Orders; after: NoStore }` is for all of a module. They run
/// from the function outward.
///
/// ```
/// use pointwork_guest::{Context, Outcome, after, controller, log};
///
/// struct NoStore;
///
/// #[after]
/// impl NoStore {
///     fn after(outcome: Outcome) -> Outcome {
///         outcome.header("cache-control", "no-store")
///     }
/// }
///
/// struct Logged;
///
/// #[after]
/// impl Logged {
///     fn after(ctx: &Context, outcome: &Outcome) {
///         log::info!("{} ended with {:?}", ctx.path(), outcome.status());
///     }
/// }
///
/// struct Orders;
///
/// #[controller("orders", after = [NoStore, Logged])]
/// impl Orders {
///     #[get]
///     fn list() -> &'static str {
///         "all orders"
///     }
/// }
/// ```
pub use pointwork_guest_macros::after;
/// Makes an impl block a channel: `#[channel("db")]`.
///
/// Its listeners are the functions with one or more `#[on(…)]`; other functions stay as they are. A listener takes no
/// `self`, since a channel has no state: instances of a module are created and dropped at any time. Keep state outside,
/// in files, a database or the host application.
///
/// `#[on("product:all")]` names the event, and the signature declares the types of payload and result. The name is the
/// one within the channel: the application calls `db:product:all`. `#[on(ProductById)]` takes a type of the
/// event map, and a signature with another payload or result does not compile. If the event's name begins
/// with the channel's name, the rest is the name within the channel; otherwise the whole name is.
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
///     /// The product of that id was viewed.
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
///             _ => Err(Failure::with_code("window", 400_u16, "a window has 100 products at most")),
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
/// The arguments of a listener, each at most once, in any order, by value or by reference:
///
/// | argument | value |
/// |---|---|
/// | [`Delivery`] ([`AsyncDelivery`] in an asynchronous module) | calls and emits other events |
/// | [`Context`] ([`AsyncContext`] in an asynchronous module) | the context that was handed over with the event; without one, the listener does not run and the caller gets a failure |
/// | `Option<Context>` | the same; `None` if there is no context |
/// | [`Payload`] | the payload unchanged |
/// | a type that implements `serde::Deserialize` | the payload, read from JSON |
/// | `Valid` of such a type, with the feature `garde` | the same, if it passes its checks |
///
/// If the payload does not fit the type, or has the key of a prototype, the listener does not run, and the caller gets a failure with the code
/// `bad-payload`, the status 400, and a message with the field and what was expected. A listener without an argument
/// for the payload ignores it.
///
/// A listener returns `()`, a type that implements `serde::Serialize`, a [`Payload`], which is sent unchanged, or a
/// `Result` of those whose error converts into [`Failure`].
pub use pointwork_guest_macros::channel;
/// Makes an impl block a controller: `#[controller("products")]`, or `#[controller]` for the prefix `/`.
///
/// Its handlers are the functions with an attribute of [`attributes`]; other functions stay as they are.
/// Slashes between prefix and path are optional. `:name` captures one segment, `*name` as the last segment the rest of
/// the path; a literal segment wins over both.
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
/// Makes an impl block a guard, which lets a request pass to its handler or refuses it.
///
/// Its function `check` returns a `Result`: the value lets the request pass, and handlers take it as [`Guarded`]; the
/// error, a [`Failure`] or one that converts into it, is the reply. The function takes the context by reference, and what
/// handlers take, except the body.
///
/// `#[controller("orders", guard = SignedIn)]` guards all handlers of the block; `guard = [SignedIn, Admin]` is a list.
/// `#[guard(Admin)]` on a function guards all its routes, after the guards of the block, and `#[guard(none)]` leaves those of the
/// block out. `module! { Orders; guard: NotBlocked }` guards every handler of a module, those with `#[guard(none)]` too;
/// unit tests of a controller do not run it. A handler that takes `Guarded<SignedIn>` is guarded by that alone; one that
/// takes `Result<Guarded<SignedIn>, Failure>` is not, and gets the error.
///
/// Every value lets the request pass, so that a value which may mean "no" does not compile: `bool`, `Option`, `Result`,
/// `ControlFlow`, [`HttpStatus`], a tuple with a status, [`Failure`], and a reply. A future does not compile either, since nothing
/// would await it: a guard that waits is an `async fn`. What a guard does not refuse by its error reaches the handler, also a
/// request that the guard has replied to itself.
///
/// A guard runs once for a request, before the arguments of the handler are read. On a route with `body = "whole"` the
/// host has received the body by then, and has not given it to the module; to refuse a request before its body arrives,
/// declare `body = "stream"`.
///
/// ```
/// use pointwork_guest::{Context, Failure, Guarded, HttpStatus, controller, events, guard};
///
/// events! { pub UserOf = "users:of-token": String => Option<String>; }
///
/// struct User {
///     name: String,
/// }
///
/// struct SignedIn;
///
/// #[guard]
/// impl SignedIn {
///     fn check(ctx: &Context) -> Result<User, Failure> {
///         let header = ctx.header("authorization").unwrap_or_default();
///         let token = header.strip_prefix("Bearer ").ok_or(HttpStatus::UNAUTHORIZED)?;
///         let name = ctx.call::<UserOf>(token.to_owned())?.ok_or(HttpStatus::UNAUTHORIZED)?;
///         Ok(User { name })
///     }
/// }
///
/// struct Orders;
///
/// #[controller("orders", guard = SignedIn)]
/// impl Orders {
///     #[get]
///     fn list(user: Guarded<SignedIn>) -> String {
///         format!("the orders of {}", user.name)
///     }
///
///     #[get("count")]
///     #[guard(none)]
///     fn count() -> &'static str {
///         "7"
///     }
/// }
/// ```
///
/// A guard that takes `&Context` has the synchronous form, one that takes [`AsyncContext`] the asynchronous one. For both
/// forms, its function has the parameter `F: ModuleForm`, and awaits the functions of [`ModuleForm`](form::ModuleForm):
///
/// ```
/// use pointwork_guest::form::ModuleForm;
/// use pointwork_guest::{Context, Failure, HttpStatus, events, guard};
///
/// events! { pub UserOf = "users:of-token": String => Option<String>; }
///
/// struct SignedIn;
///
/// #[guard]
/// impl SignedIn {
///     async fn check<F: ModuleForm>(ctx: &Context<F>) -> Result<String, Failure> {
///         let token = ctx.header("x-token").ok_or(HttpStatus::UNAUTHORIZED)?;
///         Ok(F::call::<UserOf>(ctx, token).await?.ok_or(HttpStatus::UNAUTHORIZED)?)
///     }
/// }
/// ```
pub use pointwork_guest_macros::guard;
pub use reply::{Created, Deferred, Html, IntoOutcome, IntoReply, NoContent, Outcome, Redirect, Reply, ReplyParts};
pub use request::Request;
pub use stream::{BodyReader, BodyWriter};
pub use streamed::{Piece, Pieces, Sse, SseEvent, SsePiece, Streamed};
#[cfg(feature = "headers")]
pub use typed_header::TypedHeader;
#[cfg(feature = "garde")]
pub use valid::Valid;
pub use variables::{Variable, Variables};
