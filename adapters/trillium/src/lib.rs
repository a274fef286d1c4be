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
//! # Routing
//!
//! Every path shape of the table is a route of a `trillium_router::Router`, with its methods from trillium's list. The
//! core says which of them to ask, and confirms what it takes; where trillium's syntax has no word for a pattern, or its
//! list none for a method, the core decides alone. After a match `trillium_router::RouterConnExt` tells `route`, `param`
//! (`p1`, `p2`, … in the order of the path) and `wildcard`. OPTIONS, HEAD, 404 and 405 are always the core's (spec A8).
//!
//! # What never reaches a route
//!
//! trillium's list of methods is closed. [`serves`](pointwork_core::Transport::serves) asks it, so that the application
//! warns of a route that it cannot have, and shows it as unavailable. A request with a method outside the list is
//! answered by trillium itself, whatever the routes: **501 with an empty body, and the connection closes**. The list is
//! case-sensitive on the wire: `get` gets 501 too.
//!
//! The rest is as on the other adapters, with an empty body, and closes the connection:
//!
//! | request | answer |
//! |---|---|
//! | a method that is no token, a target that is no URI or holds control bytes, a version that is not 1.0 or 1.1, a header line that does not parse, or holds NUL or a bare CR | 400 |
//! | `Content-Length` that is no number, twice, or beside `Transfer-Encoding`; `Transfer-Encoding` that does not end in `chunked`, or in HTTP/1.0 | 400 |
//! | more header lines or a longer head than [`ServerOptions`] allows | 431 |
//! | a target of 64 KiB or more | 414 |
//! | a head that does not come in time | none |
//!
//! Everything else reaches [`Router::respond`](pointwork_core::Router::respond), which refuses what is left with its own
//! 400: no `Host` or several, bad escapes, and so on (spec A8, P8).
//!
//! # What differs
//!
//! In the adapter's own server:
//!
//! | what | how |
//! |---|---|
//! | HTTP/2 | Spoken only where [`Protocols::Http2`] asks for it alone, see below. [`Protocols::Both`] is HTTP/1. |
//! | names of headers in replies | As trillium writes them, `Content-Type` for `content-type`, those that it knows first. |
//! | `Connection: close` | A reply of unknown length never says it, as trillium would then end it with the connection. The connection closes all the same. |
//! | the words after a status that is not registered | Those of the first status of its class, or of 500. |
//! | trailers | Read and forgotten, in both directions. |
//! | CONNECT | A successful reply opens no tunnel: its body is dropped. The connection closes whatever the reply, with `Connection: close`. Upgrades are not supported; the `Upgrade` header is a header like any other. |
//! | a client that closes its half of the connection | It counts as gone: its handler is cancelled. While a request has a body that was not read to its end, only the reading of it can tell. |
//!
//! trillium has HTTP/2 in clear text, with prior knowledge, but **a request with a method outside its list ends the whole
//! connection there** (`GOAWAY`, `COMPRESSION_ERROR`), with all requests that others have in flight on it, as behind a
//! proxy. So nobody gets it unasked. Where it is asked for:
//!
//! | what | how |
//! |---|---|
//! | a malformed request | trillium resets its stream, where others answer 400: no authority, a `Host` that differs from it, a header of the connection. |
//! | a head that is too long | It ends the connection. One with too many headers gets 431. |
//! | pings | None are sent; [`ping_interval`](Http2Options::ping_interval) and `ping_timeout` have no effect. A connection without requests ends after the timeout for heads, and so does one whose client takes none of a reply. |
//! | requests that are taken back | `max_pending_resets` has no effect, as nobody can tell whether trillium had got to them. A client that takes back [`max_faulty_streams`](Http2Options::max_faulty_streams) requests more than it lets be answered is cut. |
//!
//! Mounted, the adapter sees what trillium's parser and types leave of a request:
//!
//! | what | how |
//! |---|---|
//! | headers | Those of one name are in order. The order of different names is trillium's. |
//! | target | `http://a` arrives as `http://a/`. Below a router that matched with `*`, slashes at the begin of the rest are one. |
//! | refusals | Two `Host` headers, none, or any doubt about the framing get an empty 400 from trillium itself, and so does an absolute target whose authority differs from `Host`; `Expect` with anything but `100-continue` gets its 417; HTTP/1.2 to 1.9 count as 1.1. |
//! | status | One that is not registered becomes the first of its class: 299 is sent as 200. |
//! | a reply that begins before the request's body is read to its end | trillium reads no further for the handler: reading on fails. |
//! | a client that goes away | Its handler is cancelled once its body is read to its end, unless it sent further requests ahead. In HTTP/2 the handler runs on. |
//! | a reply that breaks off in HTTP/2 | trillium does not reset it: its client waits on. |
//! | `Server` | Announced, unless your server is told otherwise. |
//! | a reply that breaks off in HTTP/1.0 | It ends like a whole one. |

mod adapter;
mod handler;
mod listener;
mod reply;
mod request;
mod request_body;
mod server;
mod socket;

pub use adapter::Trillium;
pub use handler::TrilliumHandler;
pub use pointwork_core::Serving;
pub use pointwork_core::{Http2Options, Protocols, ServerOptions};
