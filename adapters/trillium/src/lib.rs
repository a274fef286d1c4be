//! Adapter B: serves [Pointwork](pointwork_core) on trillium (spec A3).
//!
//! [`Trillium`] is the adapter. Connect it to an application, then [`serve`](Trillium::serve) a listener with it:
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
//! One handler takes every request, and the core alone decides on its route. Nothing is set in the connection's state.
//!
//! # Mounting
//!
//! In an application of trillium that already exists (spec A9) it is a [`TrilliumHandler`]. *In front* it takes a connection
//! only if a route matches its path and method, and passes on every other, untouched, to the handlers behind it:
//!
//! ```no_run
//! use pointwork_core::Application;
//! use trillium::Conn;
//!
//! # async fn example<A: Application>(app: A) -> Result<(), A::Error> {
//! let own = |conn: Conn| async move { conn.ok("the application's own") };
//! trillium_tokio::run_async((pointwork_trillium::in_front(&app)?, own)).await;
//! # Ok(())
//! # }
//! ```
//!
//! *Below a prefix* it answers everything there: `pointwork_trillium::handler(&app, "api")?`. [`Trillium::in_front`] and
//! [`Trillium::handler`] do the same for an adapter that is connected by hand, with options. Handlers of the user's before and
//! behind it, their state, `init`, `before_send` and upgrades work as without it. See [`TrilliumHandler`] for routers before
//! and around it.
//!
//! # Differences of trillium's server
//!
//! trillium's own server serves. [`serve`](Trillium::serve) keeps all [`ServerOptions`] but those of HTTP/2, and logs a
//! warning for a changed one that it cannot keep. The differences from the other adapters:
//!
//! | subject | difference |
//! |---|---|
//! | methods | trillium's list is closed, and case-sensitive on the wire. A route with another method, such as `PURGE`, is [not served](pointwork_core::Transport::supports_method), and the application warns of it. A route for every method serves all in the list. A request with another method gets 501 without a body, whatever the routes, and the connection closes. |
//! | HTTP/2 | Not spoken by `serve`, whatever [`Protocols`] the options have: trillium does not cancel the handler of a client that is gone, does not reset a reply that breaks off, has no limit for requests that are taken back, and ends a connection when one request has a method outside its list. In a server of your own it works so. |
//! | heads that trillium refuses | 400 without a body, and the connection closes: no `Host` or two, an absolute target whose authority differs from `Host`, a fragment in the target, a transfer coding beside `chunked`. `Expect` with anything but `100-continue` gets 417. HTTP/1.2 to 1.9 count as 1.1. |
//! | line ends | A line feed alone does not end a line of a head. Such a head gets 400, or if it has no other end, none: the connection closes after the header timeout. |
//! | a head that is too long | 431 without a body beyond `max_header_bytes`. From about twice that on, the connection closes without a reply. |
//! | order of headers | Headers of one name are in order. The order of different names is trillium's. |
//! | chunked request bodies | The connection closes after the reply: trillium's decoder takes some garbled chunks for whole ones, and the bytes behind them must not be taken for a request. A blank before the `;` of a chunk's extension, or a `;` within quotes in it, makes the body unreadable. Some garbled lengths are an error only once more bytes came, or after the body timeout. |
//! | a reply that begins before the request's body is read to its end | trillium cannot read any more: reading on fails. |
//! | a request's body that no handler reads | It is skipped for 2 s at most, then the connection closes. With `Expect: 100-continue` it closes at once. |
//! | a client that goes away | Its handler is cancelled once the request's body is read to its end, unless the client sent further requests ahead. A client that closes its half of the connection counts as gone and gets 500. While a reply is written, only a write detects it. |
//! | status | One that is not registered becomes the first of its class: 299 is sent as 200. |
//! | `Connection: close` | A reply of unknown length never has it, since trillium would then end the reply with the connection. The connection closes all the same. |
//! | CONNECT | A successful reply opens no tunnel: its body is dropped, and the connection closes. |
//! | names of headers in replies | In trillium's case, `Content-Type` for `content-type`; the names that trillium knows come first. |
//! | trailers | Read and dropped, in both directions. |
//!
//! Mounted in a server of your own, the limits and timeouts are that server's, which has few. Besides:
//!
//! | subject | difference |
//! |---|---|
//! | a chunk of `fffffffffffffffe` bytes or more | trillium-http 1.6.1 adds 2 to the size without a check. A program with overflow checks, as a debug build has, panics there: the panic is caught, the handler is cancelled, and that connection alone ends, without a reply. In any other program the size counts as 0 or 1, and the connection closes behind the body. `serve` refuses such a body with 400. |
//! | memory | trillium-http 1.6.1 doubles its buffer at every read of a head: a client that sends a head in 30 pieces makes it take a GiB, and more ends the process. `serve` prevents that; a server of your own needs a proxy in front. |
//! | target | `http://a` arrives as `http://a/`. Below a router that matched with `*`, several slashes at the beginning of the rest become one. |
//! | `Server` | trillium adds this header unless your server disables it. |
//! | a reply that breaks off in HTTP/1.0 | It ends like a whole one. |
//! | a reply that breaks off in HTTP/2 | trillium does not reset it: its client waits on. A client that goes away does not cancel its handler. |

#![forbid(unsafe_code)]

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

use pointwork_core::Application;

pub use adapter::Trillium;
pub use handler::TrilliumHandler;
pub use pointwork_core::{ConnectOptions, Http2Options, Protocols, ServerOptions, Serving};

/// Connects a new adapter to an application: a handler that puts its routes in front of the handlers behind it; see
/// [`Trillium::in_front`].
///
/// # Errors
/// The application refuses the connection.
pub fn in_front<A: Application>(app: &A) -> Result<TrilliumHandler, A::Error> {
    let trillium = Trillium::new();
    app.connect(trillium.clone(), ConnectOptions::new())?;
    Ok(trillium.in_front())
}

/// Connects a new adapter to an application: a handler that answers everything below a prefix; see [`Trillium::handler`].
///
/// # Errors
/// The application refuses the connection.
pub fn handler<A: Application>(app: &A, prefix: &str) -> Result<TrilliumHandler, A::Error> {
    let trillium = Trillium::new();
    app.connect(trillium.clone(), ConnectOptions::new().prefix(prefix))?;
    Ok(trillium.handler())
}
