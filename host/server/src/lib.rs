//! The server under the adapters whose framework is a service over hyper: axum, salvo, and bare hyper itself.
//!
//! [`serve`] accepts connections and speaks HTTP/1.1 and HTTP/2 on one port, within the limits and timeouts of
//! [`ServerOptions`](pointwork_core::ServerOptions), until its signal. It knows nothing of routes: the requests go to a
//! [`hyper::service::Service`], each with its [`Peer`](pointwork_core::Peer) in its extensions. [`request_body`] turns the body
//! of a request into the core's.
//!
//! An application does not use this crate; the `serve` of its adapter does.
//!
//! # What never reaches a service
//!
//! hyper answers these by itself, with an empty body, and closes the connection:
//!
//! | request | answer |
//! |---|---|
//! | a method that is not a token, a target that is not a URI or holds control bytes, an unknown version, a header line that does not parse or holds NUL or a bare CR | 400 |
//! | `Content-Length` that is not a number, twice, or beside `Transfer-Encoding`; `Transfer-Encoding` that does not end in `chunked`, or in HTTP/1.0 | 400 |
//! | more header lines or a longer head than the options allow | 431 |
//! | a target of 64 KiB or more | 414 |
//! | a head that does not come in time | none |
//! | the preface of HTTP/2, where the options allow HTTP/1 alone | none |
//!
//! # Why it follows the framing
//!
//! The core's guard refuses a request with two framings of its body. hyper settles two kinds of them by itself, and leaves
//! no trace for the guard:
//!
//! | in the head | hyper | this crate |
//! |---|---|---|
//! | `Content-Length` and `Transfer-Encoding: chunked`, in either order | it reads chunks, takes the length out of the headers, and closes the connection after the reply | 400 |
//! | `Content-Length` twice, with the same number | it reads so many bytes, and drops one of the lines | 400 |
//! | `Content-Length` twice, with two numbers | 400 | 400 |
//!
//! A proxy before this server may have read such a request the other way, by its length. Then the handler gets
//! another body than the one that the proxy checked and logged; and where the chunks are longer than the length, hyper goes on
//! with what the proxy sends next on this connection: the request of another client becomes part of this one's body. That
//! is request smuggling (RFC 9112, section 11.2). Two equal lengths say where the body ends, but whoever passed them on did
//! not check it, and RFC 9110, section 8.6, lets a server refuse them. So this crate follows the bytes of HTTP/1 from head
//! to head, through lengths and chunks, and makes such a head malformed before hyper sees it, by
//! [`Framing`](pointwork_core::adapter::Framing).
//!
//! A chunked body is spoiled too if a line feed alone ends a line of it. hyper takes that line feed for a part of a
//! trailer: what another reader takes for the next request becomes trailers. The handler gets an error of its body, and the
//! connection closes.
//!
//! # What differs from the bytes on the wire
//!
//! - The target keeps its form and its escapes. A fragment, which no client may send, is cut off.
//! - A line feed alone ends a line of a head, as RFC 9112, section 2.2, allows. In a chunked body it is an error.
//! - `Host` is the authority of an absolute target, or `:authority`, for the core's handlers.
//! - A successful reply to CONNECT opens no tunnel: its body is dropped and the connection closes. Upgrades, WebSocket
//!   among them, are not supported; the `Upgrade` header is a header like any other.
//! - A client that closes its half of the connection after the request counts as gone: its handler is cancelled. While
//!   a request has a body that the handler has not read, its going away shows only in the reading of it.

#![forbid(unsafe_code)]

mod body;
mod connection;
mod driver;
mod http1;
mod http2;
mod io;
mod left;
mod serve;
mod state;
mod unread;

pub use body::{BoxError, request_body};
pub use serve::{InfallibleService, serve};
