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
//! hyper answers these by itself, with an empty body, and closes the connection:
//!
//! | request | answer |
//! |---|---|
//! | a method that is no token, a target that is no URI or holds control bytes, a version that is none, a header line that does not parse or holds NUL | 400 |
//! | `Content-Length` that is no number, or several that differ; `Transfer-Encoding` that does not end in `chunked`, or in HTTP/1.0 | 400 |
//! | more header lines or a longer head than [`HyperOptions`] allows | 431 |
//! | a target of 64 KiB or more | 414 |
//! | a head that does not come in time | none |
//!
//! Everything else reaches [`Router::respond`](pointwork_core::Router::respond), which refuses what is left with its own
//! 400: no `Host` or several, bad escapes, and so on (spec A8, P8).
//!
//! # What differs from the bytes on the wire
//!
//! - With both `Content-Length` and `Transfer-Encoding: chunked`, hyper drops the former, reads the body as chunked and
//!   closes the connection after the reply, as RFC 9112, section 6.1, allows. Of several equal `Content-Length` it keeps
//!   one.
//! - The target keeps its form and its escapes. A fragment, which no client may send, is cut off.
//! - A successful reply to CONNECT opens no tunnel: its body is dropped and the connection closes. Upgrades, WebSocket
//!   among them, are not supported; the `Upgrade` header is a header like any other.
//! - A client that closes its half of the connection after the request counts as gone: its handler is cancelled. While
//!   a request has a body that the handler has not read, its going away shows only in the reading of it.

mod adapter;
mod bind;
mod body;
mod connection;
mod connections;
mod head_timer;
mod http1;
mod http2;
mod io;
mod link;
mod options;
mod service;
mod serving;
mod watch;

pub use adapter::Hyper;
pub use body::BoxError;
pub use options::{Http2Options, HyperOptions, Protocols};
pub use service::{HyperService, Replying};
pub use serving::Serving;
