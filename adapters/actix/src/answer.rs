//! The way of a request to the core.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use actix_http::{ConnectionType, Extensions as ConnectionData, Response as ActixResponse};
use actix_web::body::BoxBody;
use actix_web::dev::{Payload, RequestHead};
use actix_web::http::Version;
use futures_util::FutureExt as _;
use http::{Method, Request, Response};
use pointwork_core::adapter::{AdapterState, empty_refusal};
use pointwork_core::{Body, Extensions, Router};
use tokio::task::yield_now;

use crate::body::PayloadPump;
use crate::reply::{Held, ReplyForm, convert};
use crate::request;
use crate::state::ConnectionState;

/// The holders of a connection's data while one request is in flight: actix-http and that request. Each further one is a
/// request that came in the meantime and waits.
const HOLDERS: usize = 2;

/// Answers one request on the router of this moment, which it keeps until the request ends (spec S1). Dropping the future
/// cancels the handler.
///
/// Only a connection of the adapter's own server has a [`ConnectionState`]; without it the server around the adapter has
/// the limits.
pub(crate) fn answer(
    adapter: &AdapterState<Router>,
    head: &RequestHead,
    extensions: Option<Extensions>,
    payload: Payload,
    connection: Option<Rc<ConnectionData>>,
) -> impl Future<Output = ActixResponse<BoxBody>> + use<> {
    let state = connection.as_ref().and_then(|data| data.get::<Rc<ConnectionState>>());
    let in_flight = match state.map(ConnectionState::begin) {
        // actix-http reads on behind the last reply of a connection. The timer ends it.
        Some(None) => return pending().left_future(),
        in_flight => in_flight.flatten(),
    };
    let parts = request::convert(head, state.map(|_| adapter.options()));
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
        method: Method::GET,
        others_wait: false,
        is_chunkless: is_tunnel || head.version == Version::HTTP_10,
        is_last: is_tunnel
            || head.connection_type() != ConnectionType::KeepAlive
            || (state.is_some() && !adapter.options().keep_alive),
    };
    let running = parts.map(|mut parts| {
        form.method = parts.method.clone();
        if let Some(extensions) = extensions {
            parts.extensions.insert(extensions);
        }
        adapter.respond(Request::from_parts(parts, body))
    });
    let replying = async move {
        let mut held = Held { pump, in_flight };
        let reply = match running {
            Ok(running) => respond(running, &mut held.pump).await,
            Err(status) => empty_refusal(status),
        };
        form.others_wait = connection.is_some_and(|data| Rc::strong_count(&data) > HOLDERS);
        convert(form, reply, held)
    };
    replying.right_future()
}

/// Runs the handler, and reads the body for it, which only this thread can.
async fn respond(running: impl Future<Output = Response<Body>>, pump: &mut Option<PayloadPump>) -> Response<Body> {
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
