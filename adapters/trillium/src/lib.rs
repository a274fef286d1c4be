//! Adapter B: serves [Pointwork](pointwork_core) on trillium (spec A3).
//!
//! [`Trillium`] is the adapter. Connect it to an application, then [`serve`](Trillium::serve) a listener with it, or mount
//! it as a [`TrilliumHandler`] in an application of your own:
//!
//! ```no_run
//! use pointwork_trillium::Trillium;
//!
//! # async fn example() -> Result<(), pointwork_core::Error> {
//! let trillium = Trillium::new();
//! // app.connect_to(trillium.clone(), …)
//! let listener = trillium.bind("127.0.0.1:8080").await?;
//! trillium.serve(listener).await;
//! # Ok(())
//! # }
//! ```
//!
//! One handler takes every request and asks the core, which alone decides on routes. Nothing is set in the connection's
//! state.
//!
//! # Differences of trillium's server
//!
//! trillium's own server serves, so some things are as trillium has them. [`serve`](Trillium::serve) keeps all
//! [`ServerOptions`] but those of HTTP/2; a changed one that it cannot keep is warned about with its name.
//!
//! | what | how |
//! |---|---|
//! | methods | trillium's list is closed, and case-sensitive on the wire. [`serves`](pointwork_core::Transport::serves) asks it, so that the application warns of a route that it cannot have. A request with another method gets 501 without a body, whatever the routes, and the connection closes. |
//! | HTTP/2 | Not spoken by `serve`, whatever [`Protocols`] asks for: trillium does not tell a handler that its client is gone, does not reset a reply that breaks off, has no limit for requests that are taken back, and ends a connection when one request has a method outside its list. In a server of your own it works so. |
//! | heads that trillium refuses | 400 without a body, and the connection closes: no `Host` or two, an absolute target whose authority differs from `Host`, a fragment in the target, a transfer coding beside `chunked`. `Expect` with anything but `100-continue` gets 417. HTTP/1.2 to 1.9 count as 1.1. |
//! | line ends | A line feed alone ends no line of a head. Such a head has no end, and the connection closes without a reply when its time is over. |
//! | a head that is too long | 431 without a body beyond `max_header_bytes`; from about twice that on, the connection closes without a reply. |
//! | order of headers | Those of one name are in order. The order of different names is trillium's. |
//! | chunked request bodies | The connection closes after the reply: trillium's decoder takes some garbled chunks for whole ones, and what follows must not be taken for a request. A blank before the `;` of a chunk's extension makes the body unreadable, and some garbled lengths are an error only once more bytes came, or the body's time is over. |
//! | a reply that begins before the request's body is read to its end | trillium cannot read any more: reading on fails. |
//! | a request's body that nobody reads | It is skipped for 2 s at most, then the connection closes. With `Expect: 100-continue` it closes at once. |
//! | a client that goes away | Its handler is cancelled once the request's body is read to its end, unless the client sent further requests ahead. One that closes its half of the connection counts as gone and gets 500. While a reply is written, only writing can tell. |
//! | status | One that is not registered becomes the first of its class: 299 is sent as 200. |
//! | `Connection: close` | A reply of unknown length never says it, as trillium would then end it with the connection. The connection closes all the same. |
//! | CONNECT | A successful reply opens no tunnel: its body is dropped, and the connection closes. |
//! | names of headers in replies | As trillium writes them, `Content-Type` for `content-type`, those that it knows first. |
//! | trailers | Read and forgotten, in both directions. |
//!
//! Mounted in a server of your own, the limits and times are that server's, which has few. Besides:
//!
//! | what | how |
//! |---|---|
//! | memory | trillium-http 1.6.1 doubles its buffer at every read of a head: a client that sends a head in 30 pieces makes it take a GiB, and more ends the process. `serve` stops that; a server of your own needs a proxy in front. |
//! | target | `http://a` arrives as `http://a/`. Below a router that matched with `*`, slashes at the begin of the rest are one. |
//! | `Server` | Announced, unless your server is told otherwise. |
//! | a reply that breaks off in HTTP/1.0 | It ends like a whole one. |
//! | a reply that breaks off in HTTP/2 | trillium does not reset it: its client waits on. A client that goes away does not cancel its handler. |

mod adapter;
mod disconnect;
mod handler;
mod head_buffer;
mod listener;
mod reply;
mod request;
mod request_body;
mod server;
mod socket;
mod tasks;

pub use adapter::Trillium;
pub use handler::TrilliumHandler;
pub use pointwork_core::{Http2Options, Protocols, ServerOptions, Serving};
