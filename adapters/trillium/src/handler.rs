//! The adapter as a handler, for applications that already exist.

use std::borrow::Cow;
use std::fmt;
use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode, header};
use pointwork_core::routing::ShapeId;
use pointwork_core::{Body, Published, error_reply};
use trillium::{Conn, Handler, KnownHeaderName};

use crate::adapter::Inner;
use crate::feed::feed;
use crate::presence::client_gone;
use crate::reply::{self, Below};
use crate::request;
use crate::table::Table;

/// The adapter as a [`trillium::Handler`] (spec A9).
///
/// Made by [`Trillium::handler`](crate::Trillium::handler). Put it behind handlers of your own in a tuple: those before it
/// see the request first, and it answers all that they did not halt, with 404 too, so that nothing behind it runs. Their
/// `before_send` sees its reply. It is cheap to clone and sees later routes as they are published.
///
/// [`Extensions`](pointwork_core::Extensions) in the connection's state reach the handlers of the application. A router
/// around it that matched with a `*` has taken its prefix off the path, and the routes match what is left: while the
/// application has a global prefix too, the path doubles (spec G6).
///
/// Call it within a tokio runtime with time enabled. Of the [options](pointwork_core::ServerOptions), only the body timeout
/// counts here: the rest is the server's around it.
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
pub struct TrilliumHandler(Arc<Inner>);

impl TrilliumHandler {
    pub(crate) fn new(inner: Arc<Inner>) -> Self {
        Self(inner)
    }
}

impl fmt::Debug for TrilliumHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TrilliumHandler")
    }
}

impl Handler for TrilliumHandler {
    async fn run(&self, conn: Conn) -> Conn {
        let (conn, reply) = handle(&self.0, conn, pending()).await;
        answered(conn, reply, Below::Foreign)
    }

    fn name(&self) -> Cow<'static, str> {
        "pointwork".into()
    }
}

/// Answers a request of a connection that is trillium's own; `None` if the client goes away, or `cut` comes first.
pub(crate) async fn handle(inner: &Inner, conn: Conn, cut: impl Future<Output = ()>) -> (Conn, Option<Response<Body>>) {
    let Some(head) = request::head(&conn) else {
        let refusal = refusal(&conn);
        return (conn, Some(refusal));
    };
    let Some(table) = inner.published.load() else {
        return (conn, Some(Published::<Table>::not_ready(&head.method)));
    };
    let (mut conn, hint) = table.propose(conn, &head.method, &head.uri).await;
    let reply = respond(inner, &table, hint, head, &mut conn, cut).await;
    (conn, reply)
}

/// Gives the reply to trillium.
pub(crate) fn answered(mut conn: Conn, reply: Option<Response<Body>>, below: Below) -> Conn {
    match reply {
        Some(reply) => reply::put(&mut conn, reply, below),
        // Nobody listens, so it does not matter what is said.
        None => {
            conn.set_status(500);
        }
    }
    conn.halt()
}

/// For what trillium's parser let through, and the `http` crate does not.
fn refusal(conn: &Conn) -> Response<Body> {
    let mut reply = error_reply(StatusCode::BAD_REQUEST, "the request is malformed");
    if !in_streams(conn) {
        reply
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    reply
}

/// `None` if the client goes away first, or `cut` comes.
async fn respond(
    inner: &Inner,
    table: &Table,
    hint: Option<ShapeId>,
    head: Parts,
    conn: &mut Conn,
    cut: impl Future<Output = ()>,
) -> Option<Response<Body>> {
    let mut cut = pin!(cut);
    let length = body_length(conn);
    let (pump, body) = match length {
        Some(0) => (None, Body::empty()),
        length => {
            let (pump, body) = feed(length);
            let pause = inner.options.body_timeout;
            (Some(pump), body.within(pause, table.router.executor()))
        }
    };
    let mut respond = pin!(table.router.respond(hint, Request::from_parts(head, body)));
    if let Some(pump) = pump {
        let mut pump = pin!(pump.run(conn.request_body()));
        let first = select(select(&mut respond, &mut pump), &mut cut).await;
        match first {
            Either::Left((Either::Left((reply, _)), _)) => return Some(reply),
            Either::Left((Either::Right(((), _)), _)) => {}
            Either::Right(_) => return None,
        }
    }
    // In HTTP/2 the end of the request looks to trillium like the client's.
    let gone = if in_streams(conn) {
        Either::Left(pending())
    } else {
        Either::Right(client_gone(conn))
    };
    match select(respond, select(pin!(gone), cut)).await {
        Either::Left((reply, _)) => Some(reply),
        Either::Right(_) => None,
    }
}

/// `None` if nobody can tell beforehand.
fn body_length(conn: &Conn) -> Option<u64> {
    let headers = conn.request_headers();
    if let Some(length) = headers.content_length() {
        return Some(length);
    }
    (!in_streams(conn) && !headers.has_header(KnownHeaderName::TransferEncoding)).then_some(0)
}

/// HTTP/2 and later.
fn in_streams(conn: &Conn) -> bool {
    conn.http_version() > trillium::Version::Http1_1
}
