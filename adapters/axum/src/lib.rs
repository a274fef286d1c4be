//! Adapter A: serves [Pointwork](pointwork_core) on axum, over HTTP/1.1 and HTTP/2 on one port (spec A2).
//!
//! [`Axum`] is the adapter. Connect it to an application, then [`serve`](Axum::serve) a listener with it:
//!
//! ```no_run
//! use pointwork_axum::Axum;
//!
//! # async fn example() -> Result<(), pointwork_core::Error> {
//! let axum = Axum::new();
//! // app.connect_to(axum.clone(), …)
//! let listener = axum.bind("127.0.0.1:8080").await?;
//! axum.serve(listener).await;
//! # Ok(())
//! # }
//! ```
//!
//! Or mount its [`router`](Axum::router) in an application of your own, with your middleware around it (spec A9):
//!
//! ```
//! use axum::Router;
//! use axum::routing::get;
//! use pointwork_axum::Axum;
//!
//! let axum = Axum::new();
//! let app: Router = Router::new()
//!     .route("/own", get(|| async { "my own" }))
//!     .merge(axum.router());
//! // .layer(…), then axum::serve(listener, app)
//! # drop(app);
//! ```
//!
//! # How routes are registered
//!
//! Every table becomes an `axum::Router` with one path for each shape of the core's. On each path stand axum's seven verbs
//! for the routes that have one of them, and `any` with a guard for all other methods: a method without a route on the path
//! falls through to the table's fallback, where the core answers 404 or 405, or finds a less specific route that takes it
//! (spec A2, A8). A path that axum cannot hold is left to the fallback alone.
//!
//! # The matched path
//!
//! [`MatchedPath`](axum::extract::MatchedPath) is the pattern in axum's syntax, `/users/{id}`, with all of the application's
//! prefix. Layers [given to the adapter](Axum::layer) find it in the request, and layers around
//! [`router`](Axum::router) in the extensions of the reply, unless a layer given to the adapter answered instead.
//!
//! - Routes that differ in nothing but the names of their parameters share one path: it has the names of the first of
//!   them, in the order registered.
//! - axum matches the path alone. A reply with 405, or one to OPTIONS, has the most specific pattern of the path; and so
//!   has a request whose method only a less specific route takes.
//! - There is none where axum matched nothing: with 404, and where the core alone finds the route. That is a path with
//!   needless escapes (`/%75sers`) or with a slash at its end that is to be overlooked, a pattern with letters that are sent
//!   escaped (`/café`) or with more than 25 parameters, and the targets `*` and `host:port`. A layer that labels
//!   by the pattern needs one label for all of these: their paths are as many as clients like.
//! - [Nested](axum::Router::nest), it lacks the prefix that axum took off.
//!
//! # Server
//!
//! `axum::serve` has no timeouts and no limits. So [`serve`](Axum::serve) runs the router on [`pointwork_server`], which
//! has those of [`ServerOptions`]; its docs list the requests that it answers by itself, and the differences from the bytes
//! on the wire. Mounted, the server is yours, and of the options only the body timeout applies. hyper then settles a body
//! with two framings by itself, which `serve` [refuses](pointwork_server#why-it-follows-the-framing).

mod adapter;
mod reply;
mod syntax;
mod table;

pub use adapter::Axum;
pub use pointwork_core::{Http2Options, Protocols, ServerOptions, Serving};
