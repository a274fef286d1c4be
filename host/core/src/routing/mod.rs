//! Routing: from a request to the route that answers it.
//!
//! This module is pure: it works on types of the crate `http`, without a server, an executor or a guest. All adapters
//! share it, so a module behaves the same on each of them. A framework's own router may propose a route; this one
//! decides.
//!
//! On its way a request passes [`guard::check`], which refuses heads that servers read differently, then
//! [`Table::resolve`], then the handler. What a module declares passes [`validate`] before it becomes a route.
//!
//! # The rule
//!
//! **1. The target.** The path is taken as the client sent it. It must begin with `/`, all its escapes must be valid,
//! and decoded it must be UTF-8; otherwise the answer is 400, whatever routes there are (spec P8). The path of a
//! CONNECT request whose target is a bare authority is `/`. `OPTIONS *` is answered with the methods of all routes. The
//! query plays no part.
//!
//! **2. The segments.** The path is split at `/`, then each segment is percent-decoded, once. So `%2F` never parts
//! segments, `/%70roducts` is `/products`, and `%2541` is the text `%41`. `+` is not decoded to a space. `.` and
//! `..` are ordinary segments, and matching is case-sensitive.
//!
//! **3. The match.** A literal matches its own text, `:name` one segment that is not empty, `*name` the rest of the
//! path if that is at least one byte. Slashes are not added or removed: `/a/`, `//a` and `/a` are three paths, and only
//! a rest matches an empty segment. [`TrailingSlash::Match`] changes this for one slash at the end.
//!
//! **4. The most specific shape first.** Patterns that differ only in the names of their parameters have the same
//! [`Shape`]. Of the shapes that match, the most specific one is tried first: at the first segment where two shapes
//! differ, a literal wins over a parameter, and a parameter over a rest (spec P6). The order of declaration is
//! irrelevant.
//!
//! **5. Then the method.** Within a shape, the route for exactly this method answers, else, for HEAD, the one for GET,
//! else the one for every method (spec A7, A8). If there is none, the next shape that matches is tried (spec A2).
//!
//! **6. When no shape has a route for the method**, OPTIONS is answered with 204, anything else with 405, both with
//! `Allow`: the methods of all shapes that match, HEAD where there is GET, and OPTIONS. When no shape matches, the
//! answer is 404 (spec A8).
//!
//! Two routes with the same shape conflict if they are for the same method, or both for every method:
//! [`Table::compile`] refuses them (spec P7). So each request has exactly one answer.
//!
//! # Cost
//!
//! A lookup costs one step for each segment and pattern that may still match, however many routes there are. A path
//! without escapes is matched without an allocation, as long as at most eight alternatives are pending and at most four
//! parameters are captured.
//!
//! # Examples
//!
//! ```
//! use http::{Method, Uri};
//! use pointwork_core::routing::{RouteEntry, MethodFilter, Owner, Pattern, Resolution, Table, TableOptions};
//!
//! let mut entries = Vec::new();
//! for (method, path) in [
//!     (Some("GET"), "/products"),
//!     (Some("GET"), "/products/:id"),
//!     (Some("GET"), "/products/search"),
//!     (Some("PURGE"), "/products/:id"),
//!     (None, "/files/*path"),
//! ] {
//!     entries.push(RouteEntry {
//!         filter: MethodFilter::parse(method)?,
//!         pattern: Pattern::parse(path)?,
//!         owner: Owner::Manual,
//!         target: (),
//!     });
//! }
//! let table = Table::compile(entries, TableOptions::default())?;
//!
//! let answer = |method: &str, target: &'static str| {
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
//! // A literal wins over a parameter, in any order of declaration.
//! assert_eq!(answer("GET", "/products/search"), "/products/search {}");
//! assert_eq!(answer("GET", "/products/7"), r#"/products/:id {"id": "7"}"#);
//! // The literal has no route for this method, so the parameter is tried.
//! assert_eq!(answer("PURGE", "/products/search"), r#"/products/:id {"id": "search"}"#);
//! // Decoded once, after the split.
//! assert_eq!(answer("GET", "/products/a%2Fb"), r#"/products/:id {"id": "a/b"}"#);
//! assert_eq!(answer("GET", "/products/%zz"), "400 the path has a `%` at byte 10, expected two hexadecimal digits after it");
//! // A rest keeps its slashes, and a route for every method answers extension methods too.
//! assert_eq!(answer("MKWORKSPACE", "/files/a/b/"), r#"/files/*path {"path": "a/b/"}"#);
//! // A path and a method without a route.
//! assert_eq!(answer("GET", "/products/"), "404");
//! assert_eq!(answer("POST", "/products/search"), "405 GET, HEAD, OPTIONS, PURGE");
//! assert_eq!(answer("OPTIONS", "/products"), "204 GET, HEAD, OPTIONS");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All conflicts are reported at once, each with the owners of both routes:
//!
//! ```
//! use http::Method;
//! use pointwork_core::routing::{RouteEntry, MethodFilter, Owner, Pattern, Table, TableOptions};
//!
//! let entry = |path: &str, module: &str| RouteEntry {
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
mod path;
mod record;
mod table;

pub use conflict::{Conflict, Conflicts, Party};
pub use declaration::{
    ControllerDeclaration, DeclarationError, DeclarationErrorKind, DeclarationErrors, DeclaredRoute, MAX_NAME_BYTES,
    MAX_PATTERN_BYTES, MAX_ROUTES, MAX_TOTAL_PATTERN_BYTES, RouteDeclaration, validate,
};
pub use guard::Refusal;
pub use matcher::{Shape, ShapeId};
pub use method::{ATTRIBUTE_METHODS, MethodError, MethodFilter};
pub use owner::Owner;
pub use path::{BadTarget, Params};
pub(crate) use pointwork_patterns::text::excerpt;
#[doc(inline)]
pub use pointwork_patterns::text::{is_unprintable, one_line, paragraph};
#[doc(inline)]
pub use pointwork_patterns::{Pattern, PatternError, PatternErrorKind, Segment};
pub use record::{Origin, RouteRecord};
pub use table::{Resolution, RouteEntry, Table, TableOptions, TrailingSlash};
