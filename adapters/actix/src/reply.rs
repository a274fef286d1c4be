//! Replies: from the core's types to actix-web's.

use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use actix_http::{ConnectionType, Response as ActixResponse};
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::http::StatusCode as ActixStatus;
use actix_web::http::header::{HeaderName, HeaderValue};
use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Method, Response, StatusCode, header};
use http_body::Body as _;
use pointwork_core::{Body, BodyError};

use crate::body::PayloadPump;
use crate::state::{ConnectionState, InFlight};

/// The facts about a request and its connection that decide the form of the reply.
pub(crate) struct ReplyForm {
    pub(crate) method: Method,
    /// Further requests of the connection are there already. actix-http writes a reply for the request that it read last,
    /// whichever it answers: behind a HEAD it leaves the body out. So this reply has to be the connection's last.
    pub(crate) others_wait: bool,
    /// Chunks cannot be written: the request is of HTTP/1.0, or see [`is_tunnel`](crate::request::is_tunnel).
    pub(crate) is_chunkless: bool,
    /// The connection ends after the reply, whatever the reply declares.
    pub(crate) is_last: bool,
}

/// The values that have to live until the reply is written.
#[derive(Default)]
pub(crate) struct Held {
    /// The request's body, which may still be read.
    pub(crate) pump: Option<PayloadPump>,
    pub(crate) in_flight: Option<InFlight>,
}

/// actix-http copies a chunk before it writes the first byte of it, so a large body is handed to it in parts.
const PART: usize = 64 * 1024;

pub(crate) fn convert(form: ReplyForm, reply: Response<Body>, held: Held) -> ActixResponse<BoxBody> {
    let (mut head, mut body) = reply.into_parts();
    let mut is_last = form.is_last | form.others_wait | head.headers.remove(header::CONNECTION).is_some();
    let size = if form.method == Method::CONNECT && head.status.is_success() {
        // The bytes behind such a head belong to a tunnel, and there is none.
        is_last = true;
        head.headers.remove(header::CONTENT_LENGTH);
        BodySize::None
    } else {
        match size(&form.method, &mut head, &body) {
            // As for a GET, actix-http would miss the body.
            BodySize::Sized(_) if form.others_wait && form.method == Method::HEAD => BodySize::None,
            size => size,
        }
    };
    let is_unframed = size == BodySize::Stream && form.is_chunkless;
    is_last |= is_unframed;
    let state = held.in_flight.as_ref().map(|InFlight(state)| state.clone());
    if let Some(state) = &state {
        state.reply_begins(is_last, is_unframed);
    }
    let mut rest = Bytes::new();
    if matches!(size, BodySize::Sized(length) if length <= PART as u64) && !body.is_end_stream() {
        // A body that is there already.
        if let Some(Some(Ok(frame))) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).now_or_never() {
            rest = frame.into_data().unwrap_or_default();
        }
    }
    let body = if held.pump.is_none() && size == BodySize::Sized(rest.len() as u64) {
        BoxBody::new(rest)
    } else {
        BoxBody::new(ReplyBody {
            body,
            rest,
            size,
            state,
            held,
        })
    };
    let mut response = ActixResponse::with_body(native_status(head.status), body);
    for (name, value) in &head.headers {
        let name = HeaderName::from_bytes(name.as_str().as_bytes());
        // The older types accept whatever the newer ones do.
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.as_bytes())) {
            response.headers_mut().append(name, value);
        }
    }
    let native = response.head_mut();
    if head.status.canonical_reason().is_none() {
        // As the other servers write it.
        native.reason = Some("<none>");
    }
    if is_last {
        native.set_connection_type(ConnectionType::Close);
    }
    native.no_chunking(form.is_chunkless);
    response
}

fn native_status(status: StatusCode) -> ActixStatus {
    ActixStatus::from_u16(status.as_u16()).unwrap_or(ActixStatus::INTERNAL_SERVER_ERROR)
}

/// The size that actix-http is to declare: it writes `Content-Length` itself.
fn size(method: &Method, head: &mut http::response::Parts, body: &Body) -> BodySize {
    if head.status == StatusCode::NOT_MODIFIED {
        // Here actix-http writes the header as it stands, if there is one.
        return BodySize::None;
    }
    let declared = head.headers.remove(header::CONTENT_LENGTH);
    let declared = declared.and_then(|length| length.to_str().ok()?.parse().ok());
    if head.status == StatusCode::NO_CONTENT {
        BodySize::None
    } else if method == Method::HEAD {
        declared.map_or(BodySize::None, BodySize::Sized)
    } else {
        body.known_length().map_or(BodySize::Stream, BodySize::Sized)
    }
}

struct ReplyBody {
    body: Body,
    /// The part of the last chunk that is not handed on yet.
    rest: Bytes,
    size: BodySize,
    state: Option<Rc<ConnectionState>>,
    held: Held,
}

impl MessageBody for ReplyBody {
    type Error = BodyError;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(pump) = &mut self.held.pump {
            pump.poll(cx);
        }
        // An empty chunk would be taken for the end.
        while self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                // Trailers cannot be written.
                Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    if let Some(state) = &self.state {
                        state.reply_is_whole();
                    }
                    return Poll::Ready(None);
                }
            }
        }
        let part = self.rest.len().min(PART);
        Poll::Ready(Some(Ok(self.rest.split_to(part))))
    }
}
