//! What trillium's server calls for every request of the adapter's own server.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use http::header::{CONNECTION, CONTENT_LENGTH, HeaderValue};
use http::{Method, Request, Response, StatusCode, Version};
use pointwork_core::{Body, Published};
use trillium::{Conn, Handler, Headers, Info, KnownHeaderName, Status, Transport};
use trillium_http::Conn as HttpConn;

use super::connections::{Connections, Phase};
use super::head::Head;
use super::incoming::Incoming;
use super::io::Io;
use super::link::Link;
use super::runtime::connection;
use super::streams::OpenStream;
use crate::adapter::Inner;
use crate::handler::{answered, handle};
use crate::reply::{self, Below};
use crate::table::Table;

pub(crate) struct Endpoint {
    inner: Arc<Inner>,
    connections: Arc<Connections>,
}

impl Endpoint {
    pub(crate) fn new(inner: Arc<Inner>, connections: Arc<Connections>) -> Self {
        Self { inner, connections }
    }
}

impl Handler for Endpoint {
    async fn run(&self, mut conn: Conn) -> Conn {
        let Some(io) = Io::below(&mut conn) else {
            return self.stream(conn).await;
        };
        let link = io.link.clone();
        let head = link.lock().take_head();
        match head {
            Some((head, number)) => self.request(conn, link, *head, number).await,
            // Nothing but a head that was handed out leads here.
            None => conn.with_status(500).halt(),
        }
    }

    /// trillium would announce itself in every reply.
    async fn init(&mut self, info: &mut Info) {
        info.shared_state_entry::<Headers>()
            .or_default()
            .remove(KnownHeaderName::Server);
    }
}

impl Endpoint {
    async fn request(&self, conn: Conn, link: Arc<Link>, head: Head, number: u64) -> Conn {
        let (parts, keep_alive) = (head.parts, head.keep_alive);
        let (method, version) = (parts.method.clone(), parts.version);
        let (mut conn, reply) = match self.inner.published.load() {
            None => (conn, Some(Published::<Table>::not_ready(&method))),
            Some(table) => {
                let (conn, hint) = table.propose(conn, &method, &parts.uri).await;
                let body = match head.length {
                    Some(0) => Body::empty(),
                    length => Body::stream(Incoming::new(link.clone(), number, length)),
                };
                let body = body.within(self.inner.options.body_timeout, table.router.executor());
                let mut respond = pin!(table.router.respond(hint, Request::from_parts(parts, body)));
                let reply = poll_fn(|cx| {
                    if let Poll::Ready(reply) = respond.as_mut().poll(cx) {
                        return Poll::Ready(Some(reply));
                    }
                    link.poll_gone(cx).map(|()| None)
                });
                (conn, reply.await)
            }
        };
        let Some(mut reply) = reply else {
            if let Some(io) = Io::below(&mut conn) {
                io.abandon();
            }
            return conn.with_status(500).halt();
        };
        fit(&method, version, keep_alive, &mut reply);
        let status = reply.status();
        reply::put(&mut conn, reply, Below::Connection(link));
        if let Some(io) = Io::below(&mut conn) {
            io.reply_begins(unknown(status));
        }
        conn.halt()
    }

    /// A stream of HTTP/2: trillium tells it nothing of the server's end.
    async fn stream(&self, conn: Conn) -> Conn {
        let lines: usize = conn.request_headers().iter().map(|(_, values)| values.len()).sum();
        if lines > self.inner.options.max_headers {
            return conn.with_status(Status::RequestHeaderFieldsTooLarge).halt();
        }
        let native: &HttpConn<Box<dyn Transport>> = conn.as_ref();
        let (Some(link), Some(stream)) = (connection(), native.h2_stream_id()) else {
            // There is no other way that leads here.
            return conn.with_status(Status::InternalServerError).halt();
        };
        let open = OpenStream::new(link, stream);
        let entry = self.connections.enter(None);
        let gone = poll_fn(|cx| {
            entry.waker.register(cx.waker());
            if entry.connections.phase() == Phase::Cut {
                return Poll::Ready(());
            }
            open.poll_gone(cx)
        });
        let (conn, reply) = handle(&self.inner, conn, gone).await;
        if reply.is_some() {
            open.answered();
        }
        answered(conn, reply, open.below())
    }
}

/// The status that trillium has no name for.
fn unknown(status: StatusCode) -> Option<StatusCode> {
    (reply::native_status(status) as u16 != status.as_u16()).then_some(status)
}

/// Says of the connection what hyper would say.
fn fit(method: &Method, version: Version, keep_alive: bool, reply: &mut Response<Body>) {
    if method == Method::CONNECT && reply.status().is_success() {
        // There is no tunnel, so there is nothing to send either.
        *reply.body_mut() = Body::empty();
        reply.headers_mut().remove(CONTENT_LENGTH);
    }
    // In a reply of unknown length trillium takes the word to mean that the connection's end is the reply's.
    let whole = reply.headers().contains_key(CONTENT_LENGTH) || reply.body().known_length() == Some(0);
    let word = match version {
        Version::HTTP_10 if keep_alive => "keep-alive",
        Version::HTTP_11 if !keep_alive => "close",
        _ => return,
    };
    if whole && !reply.headers().contains_key(CONNECTION) {
        reply.headers_mut().insert(CONNECTION, HeaderValue::from_static(word));
    }
}
