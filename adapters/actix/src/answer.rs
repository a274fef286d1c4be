//! The way of a request to the core.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use actix_http::{ConnectionType, Extensions as ConnectionData, Response as ActixResponse};
use actix_web::body::BoxBody;
use actix_web::dev::{Payload, RequestHead, ServiceRequest, ServiceResponse};
use actix_web::http::Version;
use actix_web::{HttpMessage as _, HttpResponse};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use pointwork_core::adapter::{AdapterState, empty_refusal};
use pointwork_core::{Body, Extensions, FoundRoute, Peer};
use tokio::task::yield_now;

use crate::body::PayloadPump;
use crate::reply::{Held, ReplyForm, convert};
use crate::request;
use crate::state::{ConnectionState, InFlight};

/// The holders of a connection's data while one request is in flight: actix-http and that request. Each further one is a
/// request that waits behind it.
const HOLDERS: usize = 2;

/// A connection of the adapter's own server, for the time of one request.
struct Served {
    data: Rc<ConnectionData>,
    in_flight: Option<InFlight>,
    keep_alive: bool,
}

/// Answers one request of the adapter's own server. Dropping the future cancels the handler.
pub(crate) fn serve(
    adapter: &AdapterState,
    (head, peer): (&RequestHead, Peer),
    payload: Payload,
    connection: Option<Rc<ConnectionData>>,
) -> impl Future<Output = ActixResponse<BoxBody>> + use<> {
    let state = connection.as_ref().and_then(|data| data.get::<Rc<ConnectionState>>());
    let in_flight = match state.map(ConnectionState::begin) {
        // actix-http reads on behind the last reply of a connection. The timer ends it.
        Some(None) => return pending().left_future(),
        in_flight => in_flight.flatten(),
    };
    let options = adapter.options();
    let served = connection.map(|data| Served {
        data,
        in_flight,
        keep_alive: options.keep_alive,
    });
    let parts = request::convert(head, Some(options)).map(|mut parts| {
        parts.extensions.insert(peer);
        parts
    });
    answer(adapter, None, (head, parts), payload, served).right_future()
}

/// Answers one request of another server, which has the limits, with the [`Extensions`] that a middleware set. Dropping the
/// future cancels the handler.
pub(crate) fn mounted(
    adapter: &AdapterState,
    found: Option<FoundRoute>,
    request: ServiceRequest,
    parts: Result<Parts, StatusCode>,
) -> LocalBoxFuture<'static, Result<ServiceResponse, actix_web::Error>> {
    let (request, payload) = request.into_parts();
    let parts = parts.map(|mut parts| {
        // Never `ConnectionInfo`, which believes the headers of any client.
        let peer = request.extensions().get().copied();
        let peer = peer.unwrap_or_else(|| Peer::new(request.peer_addr(), request.app_config().secure()));
        parts.extensions.insert(peer);
        if let Some(extensions) = request.extensions().get::<Extensions>() {
            parts.extensions.insert(extensions.clone());
        }
        parts
    });
    let reply = answer(adapter, found, (request.head(), parts), payload, None);
    Box::pin(reply.map(|reply| Ok(ServiceResponse::new(request, HttpResponse::from(reply)))))
}

/// Answers a request with the reply of the core, or with the refusal of its head. The head is converted as well, or there is
/// the status that refuses it.
fn answer(
    adapter: &AdapterState,
    found: Option<FoundRoute>,
    (head, parts): (&RequestHead, Result<Parts, StatusCode>),
    payload: Payload,
    served: Option<Served>,
) -> impl Future<Output = ActixResponse<BoxBody>> + use<> {
    let length = parts.as_ref().ok().and_then(request::length);
    let has_body = !matches!(payload, Payload::None);
    let is_tunnel = has_body && request::is_tunnel(head);
    let (pump, body) = if has_body && !(is_tunnel && length.is_none()) {
        let (pump, body) = PayloadPump::new(payload, length);
        (Some(pump), body)
    } else {
        (None, Body::empty())
    };
    let mut form = ReplyForm {
        method: parts.as_ref().map_or(Method::GET, |parts| parts.method.clone()),
        others_wait: false,
        is_chunkless: is_tunnel || head.version == Version::HTTP_10,
        is_last: is_tunnel
            || head.connection_type() != ConnectionType::KeepAlive
            || served.as_ref().is_some_and(|served| !served.keep_alive),
    };
    let running = parts.map(|parts| adapter.respond(found, Request::from_parts(parts, body)));
    async move {
        let (connection, in_flight) = served.map(|served| (served.data, served.in_flight)).unzip();
        let in_flight = in_flight.flatten();
        let mut held = Held { pump, in_flight };
        let reply = match running {
            Ok(running) => run(running, &mut held.pump).await,
            Err(status) => empty_refusal(status),
        };
        form.others_wait = connection.is_some_and(|data| Rc::strong_count(&data) > HOLDERS);
        convert(form, reply, held)
    }
}

/// Runs the handler, and reads the body for it, which only this thread can.
async fn run(running: impl Future<Output = Response<Body>>, pump: &mut Option<PayloadPump>) -> Response<Body> {
    let mut running = pin!(running);
    let mut is_first_poll = true;
    let reply = poll_fn(|cx| {
        loop {
            if let Poll::Ready(reply) = running.as_mut().poll(cx) {
                return Poll::Ready(reply);
            }
            is_first_poll = false;
            if !pump.as_mut().is_some_and(|pump| pump.poll(cx)) {
                return Poll::Pending;
            }
        }
    });
    let reply = reply.await;
    if pump.as_ref().is_some_and(PayloadPump::is_over) {
        *pump = None;
    }
    if is_first_poll && pump.is_some() {
        // actix-http calls the service before it looks at the body, and closes the connection if it has not seen the end
        // of the body by the reply.
        yield_now().await;
    }
    reply
}
