//! Adapter D: serves [Pointwork](pointwork_core) on salvo, over HTTP/1.1 and HTTP/2 on one port (spec A4).
//!
//! [`Salvo`] is the adapter. Connect it to an application, then [`serve`](Salvo::serve) a listener with it:
//!
//! ```no_run
//! use pointwork_salvo::Salvo;
//!
//! # async fn example() -> Result<(), pointwork_core::Error> {
//! let salvo = Salvo::new();
//! // app.connect_to(salvo.clone(), …)
//! let listener = salvo.bind("127.0.0.1:8080").await?;
//! salvo.serve(listener).await;
//! # Ok(())
//! # }
//! ```
//!
//! # In an application that already exists
//!
//! There are two ways, each with your own routers, catcher, depot and hoops (spec A9):
//!
//! | way | requests of Pointwork | other requests | function |
//! |---|---|---|---|
//! | in front | those whose path and method match a route | your routers and catcher | [`in_front`](Salvo::in_front) |
//! | below a prefix | all below the prefix, with 404 and 405 | your routers and catcher | [`router`](Salvo::router) |
//!
//! The functions of the crate connect a new adapter as well, in one call: [`in_front()`], [`router()`].
//!
//! ```
//! use salvo_core::{Router, Service};
//!
//! # fn mount<A: pointwork_core::Application>(app: &A, own: Router) -> Result<Service, A::Error> {
//! let service = Service::new(own).hoop(pointwork_salvo::in_front(app)?);
//! // Server::new(acceptor).serve(service)
//! # Ok(service)
//! # }
//! ```
//!
//! # How routes are registered
//!
//! salvo sees one entry, or one hoop, for requests of every method (spec A4). It hands the request to the core, which alone
//! decides, on the path as it came: salvo would decode it, and read `//` and a slash at the end as if they were not there. So
//! no route can be lost to salvo's syntax, and nothing of a route shows in salvo's own values.
//!
//! # What never reaches a route
//!
//! Malformed heads, which hyper answers by itself: the docs of [`pointwork_server`], on which [`serve`](Salvo::serve) runs,
//! list them, and the differences from the bytes on the wire. Every other request reaches
//! [`Router::respond`](pointwork_core::Router::respond), which refuses the invalid ones that hyper accepts with a 400 of its
//! own: no `Host` or several, bad escapes, and so on (spec A8, P8).
//!
//! # Differences of salvo's server
//!
//! [`serve`](Salvo::serve) has none. Mounted in a server of salvo's own:
//!
//! | subject | difference |
//! |---|---|
//! | limits and times | the server's; of the [`ServerOptions`] only the body timeout counts |
//! | with salvo's feature `fix-http1-request-uri` (a default) | a target that is a path gets scheme and `Host` before it, which no handler sees; one that is a bare authority, as CONNECT has it, becomes `/`, so that the context's path is `/` instead of empty |
//! | a body in two framings, or two lengths that agree | as hyper reads them: a `Content-Length` beside `Transfer-Encoding` is dropped, equal ones become one; [`serve`](Salvo::serve) refuses both, [for a reason](pointwork_server#why-it-follows-the-framing) |
//! | a streamed reply in HTTP/1.0 that breaks off | ends like a whole one, since salvo's server closes in good order; [`serve`](Salvo::serve) resets the connection |
//! | a middleware that answers by itself, or changes method, target or headers | changes what the routes see |

#![forbid(unsafe_code)]

mod adapter;
mod handler;
mod reply;
mod request;

use pointwork_core::Application;

pub use adapter::Salvo;
pub use handler::SalvoHoop;
pub use pointwork_core::{ConnectOptions, Http2Options, Protocols, ServerOptions, Serving};

/// Connects a new adapter to an application: a hoop that puts its routes in front of a [`Service`](salvo_core::Service); see
/// [`Salvo::in_front`].
///
/// # Errors
/// The application refuses the connection.
pub fn in_front<A: Application>(app: &A) -> Result<SalvoHoop, A::Error> {
    let salvo = Salvo::new();
    app.connect(salvo.clone(), ConnectOptions::new())?;
    Ok(salvo.in_front())
}

/// Connects a new adapter to an application: a router that answers everything below a prefix; see [`Salvo::router`].
///
/// # Errors
/// The application refuses the connection.
pub fn router<A: Application>(app: &A, prefix: &str) -> Result<salvo_core::Router, A::Error> {
    let salvo = Salvo::new();
    app.connect(salvo.clone(), ConnectOptions::new().prefix(prefix))?;
    Ok(salvo.router())
}
