//! The adapter as a handler.

use std::borrow::Cow;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use pointwork_core::adapter::{AdapterState, BodyPump, empty_refusal};
use pointwork_core::{Body, Router};
use trillium::{Conn, Handler, Headers, Info, KnownHeaderName};

use crate::disconnect::unless_disconnected;
use crate::request_body::{Rest, TrailerLimit, fill};
use crate::socket::Socket;
use crate::{reply, request};

/// The adapter as a [`trillium::Handler`] (spec A9).
///
/// [`Trillium::handler`](crate::Trillium::handler) returns it. Put it behind handlers of your own in a tuple: they see the
/// request first, and it answers every request that they did not halt, with 404 too, so that no handler behind it runs.
/// Their `before_send` sees its reply. It is cheap to clone and sees later routes as they are published. It sets nothing in
/// the connection's state.
///
/// [`Extensions`](pointwork_core::Extensions) in the connection's state reach the handlers of the application. A router
/// around it that matched with a `*` has taken its prefix off the path, and the routes match the rest: if the application
/// has a global prefix too, the path doubles (spec G6).
///
/// Call it within a tokio runtime with time enabled. Of the [options](pointwork_core::ServerOptions) only the body timeout
/// applies here: the others belong to the server around it.
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
#[derive(Clone, Debug)]
pub struct TrilliumHandler {
    state: Arc<AdapterState<Router>>,
    /// Whether the server around it is the adapter's own.
    is_served: bool,
}

impl TrilliumHandler {
    pub(crate) fn new(state: Arc<AdapterState<Router>>, is_served: bool) -> Self {
        Self { state, is_served }
    }
}

impl Handler for TrilliumHandler {
    async fn run(&self, mut conn: Conn) -> Conn {
        if let Some(socket) = Socket::below(&mut conn) {
            socket.request_begins();
        }
        let mut rest = if request::body_length(&conn) == Some(0) {
            Rest::None
        } else {
            Rest::Unread
        };
        let reply = self.exchange(&mut conn, &mut rest).await;
        let ends = self.ends_connection(&conn, rest);
        // Without a reply the client is gone, so any will do.
        let reply = reply.unwrap_or_else(|| empty_refusal(StatusCode::INTERNAL_SERVER_ERROR));
        reply::put(&mut conn, reply, ends);
        if let Some(socket) = Socket::below(&mut conn) {
            socket.reply_begins(rest == Rest::Unread);
        }
        conn.halt()
    }

    async fn init(&mut self, info: &mut Info) {
        if self.is_served {
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
    /// Answers the request; `None` if the client disconnects first.
    async fn exchange(&self, conn: &mut Conn, rest: &mut Rest) -> Option<Response<Body>> {
        let head = match self.head(conn) {
            Ok(head) => head,
            Err(status) => return Some(empty_refusal(status)),
        };
        let length = request::body_length(conn);
        let (pump, body) = match length {
            Some(0) => (None, Body::empty()),
            length => {
                let (pump, body) = BodyPump::new(length);
                (Some(pump), body)
            }
        };
        let mut respond = pin!(self.state.respond(Request::from_parts(head, body)));
        if let Some(pump) = pump {
            let socket = length.is_none().then(|| Socket::below(conn)).flatten();
            let trailers = socket.map(|socket| TrailerLimit {
                count: socket.counted(),
                limit: self.state.options().max_header_bytes as usize,
            });
            let filling = pin!(fill(pump, conn.request_body(), trailers));
            match select(respond.as_mut(), filling).await {
                Either::Left((reply, _)) => return Some(reply),
                Either::Right((end, _)) => *rest = end,
            }
        }
        if request::in_streams(conn) {
            // There trillium takes the end of the request for a disconnect.
            return Some(respond.await);
        }
        unless_disconnected(conn, respond).await
    }

    /// The head of the request, or the status that refuses it.
    fn head(&self, conn: &Conn) -> Result<Parts, StatusCode> {
        let Some(head) = request::head(conn) else {
            let is_long = conn.path_and_query().len() > request::LONGEST_TARGET;
            return Err(if is_long {
                StatusCode::URI_TOO_LONG
            } else {
                StatusCode::BAD_REQUEST
            });
        };
        let options = self.state.options();
        let is_long = || request::length(conn, &head) > options.max_header_bytes as usize;
        if self.is_served && (head.headers.len() > options.max_headers || is_long()) {
            return Err(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        }
        Ok(head)
    }

    /// Whether the connection must not serve another request.
    fn ends_connection(&self, conn: &Conn, rest: Rest) -> bool {
        let headers = conn.request_headers();
        // trillium's decoder takes some garbled chunks for whole ones, so the bytes behind a chunked body may be a part of
        // it. And it takes the bytes behind an `Expect` for the next request if it did not send `100 Continue`.
        rest == Rest::Unknown
            || headers.has_header(KnownHeaderName::TransferEncoding)
            || (rest == Rest::Unread && headers.has_header(KnownHeaderName::Expect))
            || (self.is_served && !self.state.options().keep_alive)
    }
}
