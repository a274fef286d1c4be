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
//! # In an application that already exists
//!
//! There are two ways, each with your own routes, fallback, layers and state (spec A9):
//!
//! | way | requests of Pointwork | other requests | function |
//! |---|---|---|---|
//! | in front | those whose path and method match a route | your routes and your fallback | [`in_front_of`](Axum::in_front_of), [`in_front`](Axum::in_front) |
//! | below a prefix | all below the prefix, with 404 and 405 | your routes and your fallback | [`router`](Axum::router) |
//!
//! The functions of the crate connect a new adapter as well, in one call: [`in_front_of()`], [`in_front()`], [`router()`].
//!
//! ```
//! use axum::Router;
//! use axum::routing::get;
//!
//! # fn mount<A: pointwork_core::Application>(app: &A) -> Result<Router, A::Error> {
//! let own = Router::new().route("/own", get(async || "my own"));
//! let router = pointwork_axum::in_front_of(app, own)?;
//! // .layer(…), then axum::serve(listener, router)
//! # Ok(router)
//! # }
//! ```
//!
//! # How routes are registered
//!
//! Every table becomes an `axum::Router` with one path for each shape of the core's. On each path stand axum's seven verbs
//! for the routes that have one of them, and `any` with a guard for all other methods: a method without a route on the path
//! falls through to the table's fallback, where the core answers 404 or 405, or finds a less specific route that matches it
//! (spec A2, A8). A path that axum cannot hold is left to the fallback alone.
//!
//! # The matched path
//!
//! [`MatchedPath`](axum::extract::MatchedPath) is the pattern in axum's syntax, `/users/{id}`, with all of the application's
//! prefix. Layers [given to the adapter](Axum::layer) find it in the request, and layers around a mount in the extensions of
//! the reply, unless a layer given to the adapter answered instead. In the request, a layer around a mount finds none in
//! front of your routes, and below a prefix the path of the mount, `/api/{*…}`; it never finds a parameter. In front, it finds
//! none of *your own* routes' paths either, unless the adapter is a [layer of your router](Axum::in_front).
//!
//! - Routes that differ in nothing but the names of their parameters share one path: it has the names of the first of
//!   them, in the order registered.
//! - axum matches the path alone. A reply with 405, or one to OPTIONS, has the most specific pattern of the path; and so
//!   has a request whose method only a less specific route matches.
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

#![forbid(unsafe_code)]

mod adapter;
mod layer;
mod syntax;
mod table;

use pointwork_core::Application;

pub use adapter::Axum;
pub use layer::{AxumLayer, Mounted};
pub use pointwork_core::{ConnectOptions, Http2Options, Protocols, ServerOptions, Serving};

/// Connects a new adapter to an application: a router that puts its routes in front of a finished one; see
/// [`Axum::in_front_of`].
///
/// # Errors
/// The application refuses the connection.
pub fn in_front_of<A: Application>(app: &A, router: axum::Router) -> Result<axum::Router, A::Error> {
    let axum = Axum::new();
    app.connect(axum.clone(), ConnectOptions::new())?;
    Ok(axum.in_front_of(router))
}

/// Connects a new adapter to an application: a tower layer that puts its routes in front of a service; see
/// [`Axum::in_front`].
///
/// # Errors
/// The application refuses the connection.
pub fn in_front<A: Application>(app: &A) -> Result<AxumLayer, A::Error> {
    let axum = Axum::new();
    app.connect(axum.clone(), ConnectOptions::new())?;
    Ok(axum.in_front())
}

/// Connects a new adapter to an application: a router that answers everything below a prefix; see [`Axum::router`].
///
/// # Errors
/// The application refuses the connection, or axum the prefix.
pub fn router<A: Application>(app: &A, prefix: &str) -> Result<axum::Router, A::Error> {
    let axum = Axum::new();
    app.connect(axum.clone(), ConnectOptions::new().prefix(prefix))?;
    Ok(axum.router()?)
}
