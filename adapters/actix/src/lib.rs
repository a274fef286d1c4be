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
//! In an application of actix-web that already exists it is a service (spec A9). The user's routes come first, and what
//! none of them takes is ours, with the user's middleware around all:
//!
//! ```no_run
//! use actix_web::{App, HttpServer, middleware::Logger, web};
//! use pointwork_actix::Actix;
//!
//! # async fn mine() -> &'static str { "mine" }
//! # async fn example() -> std::io::Result<()> {
//! let actix = Actix::new();
//! // app.connect_to(actix.clone(), …)
//! HttpServer::new(move || {
//!     App::new()
//!         .wrap(Logger::default())
//!         .route("/mine", web::get().to(mine))
//!         .default_service(actix.service())
//! })
//! .bind("127.0.0.1:8080")?
//! .run()
//! .await
//! # }
//! ```
//!
//! See [`ActixService`] for scopes, and for what a middleware can tell a handler.
//!
//! # How a request finds its route
//!
//! For every shape of the table there is a resource of actix-web, with guards for the methods of its routes, any method
//! among them (spec A4). An `App` cannot change once it runs, so all of them stand behind one service, which asks the one
//! resource that may fit: the last of a thousand routes costs what the first does. What the resource captures is in
//! [`match_info`](actix_web::HttpRequest::match_info), its parameters named `p1`, `p2`, … by position. The core has the last
//! word. A pattern that a resource cannot express (more than 16 parameters; braces, a star or an escaped slash in a
//! literal) is matched by the core alone.
//!
//! # What never reaches a route
//!
//! [`serve`](Actix::serve) answers these by itself, with an empty body, and closes the connection:
//!
//! | request | answer |
//! |---|---|
//! | a method that is no token, a target that is no URI or holds control bytes, a version other than 1.0 and 1.1, a header line that does not parse or holds NUL or a bare CR | 400 |
//! | `Content-Length` that is no number, twice, or beside `Transfer-Encoding`; `Transfer-Encoding` that does not end in `chunked`, or in HTTP/1.0 | 400 |
//! | more header lines or a longer head than [`ServerOptions`](pointwork_core::ServerOptions) allows | 431 |
//! | a target of 64 KiB or more | 414 |
//! | a head that does not come in time | none |
//!
//! Everything else reaches [`Router::respond`](pointwork_core::Router::respond), which refuses what is left with its own
//! 400: no `Host` or several, bad escapes, and so on (spec A8, P8).
//!
//! # What differs from the bytes on the wire
//!
//! - The target keeps its form and its escapes. A fragment, which no client may send, is cut off.
//! - A successful reply to CONNECT opens no tunnel: its body is dropped and the connection closes. Upgrades, WebSocket
//!   among them, are not supported; the `Upgrade` header is a header like any other.
//! - A client that closes its half of the connection after the request counts as gone: its handler is cancelled. While
//!   a request has a body that the handler has not read, its going away shows only in the reading of it.
//! - The header lines of a reply leave in any order, those of one name in theirs. The sizes of chunks are in upper case.
//!
//! # What differs from the other adapters
//!
//! - There is no HTTP/2: [`protocols`](pointwork_core::ServerOptions::protocols) and
//!   [`http2`](pointwork_core::ServerOptions::http2) have no effect.
//! - Connections are served by workers of actix-server, one for each core. Native handlers run there, each worker a runtime
//!   of its own: what they start with `tokio::spawn` ends with the server.
//!   [`max_connections`](pointwork_core::ServerOptions::max_connections) is shared out evenly among them, rounded down.
//! - A system out of file descriptors stands in the log only, as an error of actix-server, not as `server:crashed`. It
//!   tries again.
//! - A reply carries `Connection: close` in HTTP/1.1 whenever the connection closes after it, after CONNECT and after a
//!   body that was not read too, and in HTTP/1.0 never. A body that came along although the client asked to be told is
//!   read over, and the connection stays.
//! - A status that has no name gets an empty one.
//!
//! # How the server is made
//!
//! It is actix-server with actix-http's HTTP/1, which by itself differs from the other servers in many requests. It takes
//! 96 header lines and 128 KiB of head, whatever is asked for; waits without end for the second head of a connection;
//! sends `100 Continue` before anybody reads; takes `Upgrade: websocket` and CONNECT for the last request of a connection;
//! refuses an HTTP/1.0 POST without a length, an absolute target without `Host`, and a coding beside `chunked`; leaves out
//! `Connection: close` when it refuses a later request; answers a target that is too long with 400; cuts a connection with
//! broken chunks before a slower handler can answer; and over a body that is not read it says `Connection: close`, and may
//! serve the next request all the same. It also keeps the headers of a request in no order.
//!
//! So the socket that it is given reads the heads first, refuses what has to be refused, and hands on one request at a
//! time: a stand-in for the head, which says only what concerns the framing, and the body. The service gets the head
//! itself. Bodies are actix-http's to read, and replies its to write.
//!
//! In a server of the user's own none of this holds, and of the options only
//! [`body_timeout`](pointwork_core::ServerOptions::body_timeout) counts: its parser, its limits and its times are those of
//! [`HttpServer`](actix_web::HttpServer). There the header lines of a request arrive in any order too, those of one name
//! in theirs; a streamed reply to HTTP/1.0 that breaks off looks like one that ended.

mod adapter;
mod body;
mod connection;
mod reply;
mod request;
mod service;
mod serving;

pub use adapter::Actix;
pub use pointwork_core::Serving;
pub use service::ActixService;
