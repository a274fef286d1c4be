//! Adapter C: serves [Pointwork](pointwork_core) on actix-web, over HTTP/1.1 (spec A4).
//!
//! [`Actix`] is the adapter. Connect it to an application, then [`serve`](Actix::serve) a listener with it, on any tokio
//! runtime:
//!
//! ```no_run
//! use pointwork_actix::Actix;
//!
//! # async fn example() -> Result<(), pointwork_core::Error> {
//! let actix = Actix::new();
//! // app.connect_to(actix.clone(), …)
//! let listener = actix.bind("127.0.0.1:8080").await?;
//! actix.serve(listener).await;
//! # Ok(())
//! # }
//! ```
//!
//! # Mounting
//!
//! In an application of actix-web that already exists (spec A9), with its routes, default service, data and middleware. *In
//! front* it is a middleware, and takes a request only if a route matches its path and method:
//!
//! ```no_run
//! use actix_web::{App, HttpServer, middleware::Logger, web};
//! use pointwork_core::Application;
//!
//! # async fn mine() -> &'static str { "mine" }
//! # async fn example<A: Application>(app: A) -> Result<(), Box<dyn std::error::Error>>
//! # where A::Error: std::error::Error + 'static {
//! let pointwork = pointwork_actix::in_front(&app)?;
//! HttpServer::new(move || {
//!     App::new()
//!         .route("/mine", web::get().to(mine))
//!         .wrap(pointwork.clone())
//!         .wrap(Logger::default())
//! })
//! .bind("127.0.0.1:8080")?
//! .run()
//! .await?;
//! # Ok(())
//! # }
//! ```
//!
//! *Below a prefix* it is a service, and answers everything there: `let pointwork = pointwork_actix::service(&app, "api")?`,
//! then `App::new().service(pointwork.clone())` before the user's own services. [`Actix::in_front`] and [`Actix::service`] do
//! the same for an adapter that is connected by hand, with options. See [`ActixInFront`] and [`ActixService`] for the order of
//! middleware, for scopes, and for the values that a middleware can pass to a handler.
//!
//! CONNECT and `Upgrade` of the user's own services work as without the adapter.
//!
//! # How a request finds its route
//!
//! actix-web has one entry, which passes every request on to the core: [`Router::respond`](pointwork_core::Router::respond)
//! matches the target as the client sent it, and every method of a route (spec A4). [`serve`](Actix::serve) configures
//! actix-web's own server, which is actix-server with actix-http's HTTP/1, and puts nothing between it and the entry.
//! There is one worker for each core. Native handlers run on the workers, each a runtime of its own: a task that they
//! start with `tokio::spawn` ends with the server.
//!
//! One timer for each connection keeps the timeouts of the [options](pointwork_core::ServerOptions), and closes the
//! connection. The timer runs until the head of a request has arrived, stops while the request is answered, and starts
//! again at the end of the reply: actix-http itself limits only the first head of a connection.
//!
//! # Differences of actix-web's server
//!
//! | request or setting | on actix-web |
//! |---|---|
//! | a malformed head, no `Host` header or two, a length beside a transfer coding, two lengths, a coding other than `chunked` | 400 without a body from actix-http, which logs an error, and the end of the connection. Only the refusal of a connection's first request has `Connection: close` |
//! | a POST without a length in HTTP/1.0 | 400 |
//! | a target that is not ASCII, or has 64 KiB or more | 400 |
//! | a method with one of the characters `#$%&'` | 400; a route for one is shown as unavailable (spec A3) |
//! | more than 96 header lines, or a head of more than 128 KiB | 431, whatever [`max_headers`](pointwork_core::ServerOptions::max_headers) and [`max_header_bytes`](pointwork_core::ServerOptions::max_header_bytes) are. A client that sends on may see a reset instead |
//! | broken chunks | the handler reads a body that broke off, and its reply is lost if it does not come at once |
//! | `Expect: 100-continue` | `100 Continue` is sent before the handler reads the body |
//! | a request whose body was not all read when its reply began | the reply has `Connection: close`; the connection closes half a second after it |
//! | CONNECT, `Upgrade: websocket`, `Connection: upgrade` | answered like any other request, and the last of its connection. A reply without a length has no chunks then |
//! | pipelining: a request was read before the reply to the one before it is made | that reply is the last of its connection, and the later request is not answered. actix-http would write the reply in the form that the later request needs |
//! | header lines | reach the handler, and leave in a reply, in any order; only the lines of one name keep their order |
//! | a refusal in HTTP/1.0 | has no `Connection: close`; the connection closes all the same |
//! | a client that closes its half of the connection | counts as gone, and its handler is cancelled |
//! | [`protocols`](pointwork_core::ServerOptions::protocols), [`http2`](pointwork_core::ServerOptions::http2) | HTTP/2 is not spoken |
//! | [`max_connections`](pointwork_core::ServerOptions::max_connections) | divided evenly among the workers, rounded down |
//! | [`header_timeout`](pointwork_core::ServerOptions::header_timeout) | also limits the time for the last 32 KiB of a reply that the system has not taken yet, unless the client takes nothing for a while: then [`write_timeout`](pointwork_core::ServerOptions::write_timeout) does |
//! | a connection that cannot be accepted, as in a process out of file descriptors | is in the log only, as an error of actix-server, which offers no hook for it, and not a `server:crashed`. The server tries again |
//!
//! [`serve`](Actix::serve) logs a warning for each setting that was changed to a value that it cannot keep.
//!
//! In a server of the user's own ([`HttpServer`](actix_web::HttpServer)) its limits and timeouts hold, and of the options only
//! [`body_timeout`](pointwork_core::ServerOptions::body_timeout) applies. There a reply to a pipelined request has the form
//! that the request read last needs: a reply to a GET lacks its body if a HEAD was read meanwhile. A reply without a length
//! that breaks off looks whole there in HTTP/1.0, and to a request with `Upgrade: websocket`.
//!
//! There, a client that leaves does not cancel its handler: actix-web notices it only when it writes the reply. Build the server with
//! [`h1_allow_half_closed(false)`](actix_web::HttpServer::h1_allow_half_closed), whose default is `true`: the handler is then
//! cancelled, also if the client closes only its half of the connection. [`serve`](Actix::serve) leaves the value `true`, and
//! notices by itself that a client closes its connection.

#![forbid(unsafe_code)]

mod adapter;
mod answer;
mod body;
mod connection;
mod middleware;
mod reply;
mod request;
mod server;
mod service;
mod state;

use pointwork_core::Application;

pub use adapter::Actix;
pub use middleware::{ActixInFront, Mounted};
pub use pointwork_core::{ConnectOptions, ServerOptions, Serving};
pub use service::ActixService;

/// Connects a new adapter to an application: a middleware that puts its routes in front of the services of an `App`; see
/// [`Actix::in_front`].
///
/// # Errors
/// The application refuses the connection.
pub fn in_front<A: Application>(app: &A) -> Result<ActixInFront, A::Error> {
    let actix = Actix::new();
    app.connect(actix.clone(), ConnectOptions::new())?;
    Ok(actix.in_front())
}

/// Connects a new adapter to an application: a service that answers everything below a prefix; see [`Actix::service`].
///
/// # Errors
/// The application refuses the connection.
pub fn service<A: Application>(app: &A, prefix: &str) -> Result<ActixService, A::Error> {
    let actix = Actix::new();
    app.connect(actix.clone(), ConnectOptions::new().prefix(prefix))?;
    Ok(actix.service())
}
