//! Adapter E: serves [Pointwork](pointwork_core) on bare hyper, over HTTP/1.1 and HTTP/2 on one port (spec A5).
//!
//! [`Hyper`] is the adapter. Connect it to an application, then [`serve`](Hyper::serve) a listener with it, or mount it
//! as a [`HyperService`] in a server of your own:
//!
//! ```no_run
//! use pointwork_hyper::Hyper;
//!
//! # async fn example() -> Result<(), pointwork_core::Error> {
//! let hyper = Hyper::new();
//! // app.connect_to(hyper.clone(), …)
//! let listener = hyper.bind("127.0.0.1:8080").await?;
//! hyper.serve(listener).await;
//! # Ok(())
//! # }
//! ```
//!
//! # What never reaches a route
//!
//! Malformed heads, which hyper answers by itself: the docs of [`pointwork_server`] list them, and the differences from the
//! bytes on the wire. Every other request reaches [`Router::respond`](pointwork_core::Router::respond), which refuses the
//! invalid ones that hyper accepts with a 400 of its own: no `Host` or several, bad escapes, and so on (spec A8, P8).

#![forbid(unsafe_code)]

mod adapter;
mod layer;
mod service;

use pointwork_core::Application;

pub use adapter::Hyper;
pub use layer::{HyperLayer, Mounted};
pub use pointwork_core::{ConnectOptions, Http2Options, Protocols, ServerOptions, Serving};
pub use pointwork_server::BoxError;
pub use service::HyperService;

/// Connects a new adapter to an application: a layer that puts its routes in front of a service; see [`Hyper::in_front`].
///
/// # Errors
/// The application refuses the connection.
pub fn in_front<A: Application>(app: &A) -> Result<HyperLayer, A::Error> {
    let hyper = Hyper::new();
    app.connect(hyper.clone(), ConnectOptions::new())?;
    Ok(hyper.in_front())
}

/// Connects a new adapter to an application: a layer that answers everything below a prefix; see [`Hyper::below`].
///
/// # Errors
/// The application refuses the connection.
pub fn below<A: Application>(app: &A, prefix: &str) -> Result<HyperLayer, A::Error> {
    let hyper = Hyper::new();
    app.connect(hyper.clone(), ConnectOptions::new().prefix(prefix))?;
    Ok(hyper.below())
}
