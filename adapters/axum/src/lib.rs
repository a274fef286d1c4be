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
//! Every table becomes an `axum::Router` with one path for each shape of the core's, the parameters named by their place
//! (`/a/{p1}/{*p2}`). On each path stand axum's seven verbs for the routes that have one of them, and `any` with a guard
//! for all other methods: a method that no route of the path is for falls through to the core, which says 404, 405, or
//! finds the less specific route that takes it (spec A2, A8). [`MatchedPath`](axum::extract::MatchedPath) shows the
//! path to the layers within; a path that axum cannot hold beside the others is left to the core alone.
//!
//! # Server
//!
//! `axum::serve` knows no timeouts and no limits. So [`serve`](Axum::serve) runs the router on [`pointwork_server`], which
//! has those of [`ServerOptions`]; what that answers by itself, and what differs from the bytes on the wire, is in its
//! docs. Mounted, the server is yours, and so are they, the body's pause aside.

mod adapter;
mod reply;
mod syntax;
mod table;

pub use adapter::Axum;
pub use pointwork_core::Serving;
pub use pointwork_core::{Http2Options, Protocols, ServerOptions};
