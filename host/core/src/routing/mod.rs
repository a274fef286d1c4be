//! From a request to the route that answers it.
//!
//! Everything here is pure: it takes types of the crate `http` and gives answers, without a server, an executor or a
//! guest. All adapters share it, so that a module cannot tell them apart: a framework's own router may propose a route,
//! this one decides.
//!
//! On its way a request passes [`guard::check`], which refuses heads that servers read differently, then
//! [`Table::resolve`], then the handler, and its response passes [`sanitize()`]. What a module declares passes
//! [`validate`] before it becomes a route.
//!
//! # The rule
//!
//! **1. The target.** The path is taken as the client sent it. It must begin with `/`, all its escapes must be valid,
//! and decoded it must be UTF-8; otherwise the answer is 400, whatever routes there are (spec P8). The path of a
//! CONNECT request whose target is a bare authority is `/`. `OPTIONS *` is answered with the methods of all routes. The
//! query plays no part.
//!
//! **2. The segments.** The path is split at `/`, then each segment is percent-decoded, once. So `%2F` never parts
//! segments, `/%70roducts` is `/products`, and `%2541` is the text `%41`. `+` is no space. `.` and `..` are ordinary
//! segments, and case counts.
//!
//! **3. The match.** A literal matches its own text, `:name` one segment that is not empty, `*name` the rest of the path
//! if that is at least one byte. Nothing is added or left out: `/a/` and `//a` are other paths than `/a`, and empty
//! segments match nothing but a rest. [`TrailingSlash::Match`] changes this for one slash at the end.
//!
//! **4. The most specific shape first.** Patterns that differ in nothing but the names of parameters have one
//! [`Shape`]. Of the shapes that match, the one comes first that has a literal where the other has a parameter or rest,
//! or a parameter where the other has a rest, at the first segment where they differ (spec P6). The order of
//! declaration plays no part.
//!
//! **5. Then the method.** Within a shape, the route for the very method answers, else, for HEAD, the one for GET, else
//! the one for every method (spec A7, A8). If none is there, the next shape that matches is asked (spec A2).
//!
//! **6. When no shape has a route for the method**, OPTIONS is answered with 204, anything else with 405, both with
//! `Allow`: the methods of all shapes that match, HEAD where there is GET, and OPTIONS. When no shape matches, the answer
//! is 404 (spec A8).
//!
//! Two routes with the same shape that are for the same method, or both for every method, cannot stand in one table:
//! [`Table::compile`] refuses them (spec P7). So each request has exactly one answer.
//!
//! # Cost
//!
//! A lookup costs one step for each segment and pattern that may still match, however many routes there are. A path
//! without escapes is matched without an allocation, as long as there are no more than eight ways left to try at a time
//! and four parameters to capture.
//!
//! # Examples
//!
//! ```
//! use http::{Method, Uri};
//! use pointwork_core::routing::{Entry, MethodFilter, Owner, Pattern, Resolution, Table, TableOptions};
//!
//! let mut entries = Vec::new();
//! for (method, path) in [
//!     (Some("GET"), "/products"),
//!     (Some("GET"), "/products/:id"),
//!     (Some("GET"), "/products/search"),
//!     (Some("PURGE"), "/products/:id"),
//!     (None, "/files/*path"),
//! ] {
//!     entries.push(Entry {
//!         filter: MethodFilter::parse(method)?,
//!         pattern: Pattern::parse(path)?,
//!         owner: Owner::Manual,
//!         target: (),
//!     });
//! }
//! let table = Table::compile(entries, TableOptions::default())?;
//!
//! let ask = |method: &str, target: &'static str| {
//!     let method = Method::from_bytes(method.as_bytes()).unwrap();
//!     match table.resolve(None, &method, &Uri::from_static(target)) {
//!         Resolution::Matched { entry, params, .. } => format!("{} {params:?}", entry.pattern),
//!         Resolution::NotFound => "404".to_owned(),
//!         Resolution::MethodNotAllowed { allow } => format!("405 {}", allow.to_str().unwrap()),
//!         Resolution::Options { allow } => format!("204 {}", allow.to_str().unwrap()),
//!         Resolution::BadRequest(bad) => format!("400 {bad}"),
//!         _ => unreachable!(),
//!     }
//! };
//!
//! // A literal beats a parameter, though it was declared after it.
//! assert_eq!(ask("GET", "/products/search"), "/products/search {}");
//! assert_eq!(ask("GET", "/products/7"), r#"/products/:id {"id": "7"}"#);
//! // The literal has no route for this method, so the parameter gets its turn.
//! assert_eq!(ask("PURGE", "/products/search"), r#"/products/:id {"id": "search"}"#);
//! // Decoded once, after the split.
//! assert_eq!(ask("GET", "/products/a%2Fb"), r#"/products/:id {"id": "a/b"}"#);
//! assert_eq!(ask("GET", "/products/%zz"), "400 the path has a `%` at byte 10, expected two hexadecimal digits after it");
//! // A rest has its slashes, and a route for every method takes those that nobody has heard of.
//! assert_eq!(ask("MKWORKSPACE", "/files/a/b/"), r#"/files/*path {"path": "a/b/"}"#);
//! // Another path, another method.
//! assert_eq!(ask("GET", "/products/"), "404");
//! assert_eq!(ask("POST", "/products/search"), "405 GET, HEAD, OPTIONS, PURGE");
//! assert_eq!(ask("OPTIONS", "/products"), "204 GET, HEAD, OPTIONS");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Routes that want the same requests are told all at once, each with its owners:
//!
//! ```
//! use http::Method;
//! use pointwork_core::routing::{Entry, MethodFilter, Owner, Pattern, Table, TableOptions};
//!
//! let entry = |path: &str, module: &str| Entry {
//!     filter: MethodFilter::Only(Method::GET),
//!     pattern: Pattern::parse(path).unwrap(),
//!     owner: Owner::module(module, "users", "show"),
//!     target: (),
//! };
//! let conflicts = Table::compile(vec![entry("/users/:name", "admin"), entry("/users/:id", "shop")], TableOptions::default());
//! assert_eq!(
//!     conflicts.unwrap_err().to_string(),
//!     "route GET /users/:id of module `shop` conflicts with /users/:name of module `admin`",
//! );
//! ```

mod conflict;
mod declaration;
pub mod guard;
mod matcher;
mod method;
mod owner;
mod params;
mod pattern;
mod record;
pub mod sanitize;
mod shape;
mod table;
mod target;
mod text;

pub use conflict::{Conflict, Conflicts, Party};
pub use declaration::{
    ControllerDeclaration, DeclarationError, DeclarationErrorKind, DeclarationErrors, DeclaredRoute, MAX_NAME_BYTES,
    MAX_PATTERN_BYTES, MAX_ROUTES, MAX_TOTAL_PATTERN_BYTES, RouteDeclaration, validate,
};
pub use guard::Refusal;
pub use method::{ATTRIBUTE_METHODS, MethodError, MethodFilter};
pub use owner::Owner;
pub use params::Params;
pub use pattern::{Pattern, PatternError, PatternErrorKind, Segment};
pub use record::{Origin, RouteRecord};
pub use sanitize::{BadStatus, BodyRule, Sanitized, sanitize};
pub use shape::{Shape, ShapeId};
pub use table::{Entry, Resolution, Table, TableOptions, TrailingSlash};
pub use target::BadTarget;
