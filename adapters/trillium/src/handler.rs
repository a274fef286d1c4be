//! The adapter as a handler: the one entry, which asks the core.

use std::borrow::Cow;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::{Either, select};
use futures_util::task::AtomicWaker;
use http::{HeaderValue, Request, Response, StatusCode, header};
use pointwork_core::{Body, Published, Router};
use trillium::{Conn, Handler, Headers, Info, KnownHeaderName};

use crate::adapter::Inner;
use crate::request_body::{Rest, Trailers, pumped};
use crate::socket::Socket;
use crate::{reply, request};

/// How many times the client may send something ahead before nobody looks any more whether it is still there.
const LOOKS: u8 = 8;

/// The adapter as a [`trillium::Handler`] (spec A9).
///
/// Made by [`Trillium::handler`](crate::Trillium::handler). Put it behind handlers of your own in a tuple: those before it
/// see the request first, and it answers all that they did not halt, with 404 too, so that nothing behind it runs. Their
/// `before_send` sees its reply. It is cheap to clone and sees later routes as they are published. It sets nothing in the
/// connection's state.
///
/// [`Extensions`](pointwork_core::Extensions) in the connection's state reach the handlers of the application. A router
/// around it that matched with a `*` has taken its prefix off the path, and the routes match the rest: while the
/// application has a global prefix too, the path doubles (spec G6).
///
/// Call it within a tokio runtime with time enabled. Of the [options](pointwork_core::ServerOptions), only the body timeout
/// counts here: the rest belongs to the server around it.
///
/// ```no_run
/// use pointwork_trillium::Trillium;
/// use trillium::Conn;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let trillium = Trillium::new();
/// // app.connect_to(trillium.clone(), …)
/// trillium_tokio::run_async((
///     |conn: Conn| async move { conn.with_response_header("x-served-by", "me") },
///     trillium.handler(),
/// ))
/// .await;
/// # }
/// ```
#[derive(Clone)]
pub struct TrilliumHandler {
    inner: Arc<Inner>,
    /// Whether the server around it is the adapter's own.
    served: bool,
}

impl TrilliumHandler {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self { inner, served: false }
    }

    pub(crate) fn served(inner: Arc<Inner>) -> Self {
        Self { inner, served: true }
    }
}

impl fmt::Debug for TrilliumHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TrilliumHandler")
    }
}

impl Handler for TrilliumHandler {
    async fn run(&self, mut conn: Conn) -> Conn {
        if let Some(socket) = Socket::below(&mut conn) {
            socket.request_begins();
        }
        let mut rest = if body_length(&conn) == Some(0) {
            Rest::None
        } else {
            Rest::Unread
        };
        let reply = self.exchange(&mut conn, &mut rest).await;
        let ends = self.ends_connection(&conn, rest);
        // Without a reply nobody listens, so it does not matter what is sent.
        let reply = reply.unwrap_or_else(|| refusal(StatusCode::INTERNAL_SERVER_ERROR));
        reply::put(&mut conn, reply, ends);
        if let Some(socket) = Socket::below(&mut conn) {
            socket.reply_begins(rest == Rest::Unread);
        }
        conn.halt()
    }

    async fn init(&mut self, info: &mut Info) {
        if self.served {
            // trillium would announce itself in every reply.
            info.shared_state_entry::<Headers>()
                .or_default()
                .remove(KnownHeaderName::Server);
        }
    }

    fn name(&self) -> Cow<'static, str> {
        "pointwork".into()
    }
}

impl TrilliumHandler {
    /// Answers the request; `None` if the client goes away first.
    async fn exchange(&self, conn: &mut Conn, rest: &mut Rest) -> Option<Response<Body>> {
        let options = &self.inner.options;
        let Some(head) = request::head(conn) else {
            let is_long = conn.path_and_query().len() > request::LONGEST_TARGET;
            return Some(refusal(if is_long {
                StatusCode::URI_TOO_LONG
            } else {
                StatusCode::BAD_REQUEST
            }));
        };
        let is_long = || request::length(conn, &head) > options.max_header_bytes as usize;
        if self.served && (head.headers.len() > options.max_headers || is_long()) {
            return Some(refusal(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
        }
        let Some(router) = self.inner.published.load() else {
            return Some(Published::<Router>::not_ready(&head.method));
        };
        let length = body_length(conn);
        let (pump, body) = match length {
            Some(0) => (None, Body::empty()),
            length => {
                let trailers = if length.is_none() {
                    Socket::below(conn).map(|socket| Trailers {
                        count: socket.counted(),
                        limit: options.max_header_bytes as usize,
                    })
                } else {
                    None
                };
                let (pump, body) = pumped(length, trailers);
                (Some(pump), body.within(options.body_timeout, router.executor()))
            }
        };
        let mut respond = pin!(router.respond(None, Request::from_parts(head, body)));
        if let Some(pump) = pump {
            let pumping = pin!(pump.run(conn.request_body()));
            match select(respond.as_mut(), pumping).await {
                Either::Left((reply, _)) => return Some(reply),
                Either::Right((end, _)) => *rest = end,
            }
        }
        if in_streams(conn) {
            // There the end of the request looks to trillium like the client's.
            return Some(respond.await);
        }
        unless_gone(conn, respond).await
    }

    /// Whether the connection must not serve another request.
    fn ends_connection(&self, conn: &Conn, rest: Rest) -> bool {
        let headers = conn.request_headers();
        // trillium's decoder takes some garbled chunks for whole ones, so what follows a chunked body may be a part of it.
        // And it takes what follows an `Expect` for the next request if it did not tell the client to go on.
        rest == Rest::Unknown
            || headers.has_header(KnownHeaderName::TransferEncoding)
            || (rest == Rest::Unread && headers.has_header(KnownHeaderName::Expect))
            || (self.served && !self.inner.options.keep_alive)
    }
}

/// A refusal of a head, as servers answer it: without a body, and the last of its connection.
fn refusal(status: StatusCode) -> Response<Body> {
    let mut reply = Response::new(Body::empty());
    *reply.status_mut() = status;
    let close = HeaderValue::from_static("close");
    reply.headers_mut().insert(header::CONNECTION, close);
    reply
}

/// `None` if it is not known beforehand.
fn body_length(conn: &Conn) -> Option<u64> {
    let headers = conn.request_headers();
    if headers.has_header(KnownHeaderName::TransferEncoding) {
        return None;
    }
    let length = headers.content_length();
    length.or_else(|| (!in_streams(conn)).then_some(0))
}

/// HTTP/2 and later.
pub(crate) fn in_streams(conn: &Conn) -> bool {
    conn.http_version() > trillium::Version::Http1_1
}

/// Completes with `None` when the client goes away first, as far as trillium can tell.
///
/// trillium finds out by reading, and keeps the bytes: a client that sends its next requests ahead would fill the memory.
/// So nobody looks any more once the client has sent something a few times.
async fn unless_gone<F: Future>(conn: &mut Conn, mut future: Pin<&mut F>) -> Option<F::Output> {
    let mut looks = LOOKS;
    let mut watch = None;
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Some(output));
        }
        if looks == 0 {
            return Poll::Pending;
        }
        let (look, waker) = watch.get_or_insert_with(|| {
            let look = Arc::new(Look::default());
            let waker = Waker::from(look.clone());
            (look, waker)
        });
        look.task.register(cx.waker());
        let gone = pin!(conn.is_disconnected()).poll(&mut Context::from_waker(waker));
        if gone == Poll::Ready(true) {
            return Poll::Ready(None);
        }
        looks -= u8::from(look.again.swap(false, Ordering::Relaxed));
        Poll::Pending
    })
    .await
}

/// Tells when trillium asks for another look, which it does at once when it read something.
#[derive(Default)]
struct Look {
    again: AtomicBool,
    task: AtomicWaker,
}

impl Wake for Look {
    fn wake(self: Arc<Self>) {
        self.again.store(true, Ordering::Relaxed);
        self.task.wake();
    }
}
