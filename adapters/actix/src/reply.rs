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
use http::{Method, Response, StatusCode, header};
use http_body::Body as _;
use pointwork_core::{Body, BodyError};

use crate::body::Pump;
use crate::connection::{InFlight, Link};

/// What of a request decides the form of its reply.
pub(crate) struct Asked {
    pub(crate) method: Method,
    /// Further requests of the connection are there already. actix-http writes a reply for the request that it read last,
    /// whichever it answers: behind a HEAD it leaves the body out. So this reply has to be the connection's last.
    pub(crate) others_wait: bool,
    /// Chunks cannot be written: the request is of HTTP/1.0, or see [`is_tunnel`](crate::request::is_tunnel).
    pub(crate) chunkless: bool,
    /// The connection ends after the reply, whatever that says.
    pub(crate) last: bool,
}

/// What has to live as long as the reply is written.
#[derive(Default)]
pub(crate) struct Keep {
    /// The request's body, which may still be read.
    pub(crate) pump: Option<Pump>,
    pub(crate) in_flight: Option<InFlight>,
}

/// An empty reply that ends the connection: to a head that is refused.
pub(crate) fn refusal(status: StatusCode) -> Response<Body> {
    let mut reply = Response::new(Body::empty());
    *reply.status_mut() = status;
    let close = http::HeaderValue::from_static("close");
    reply.headers_mut().insert(header::CONNECTION, close);
    reply
}

/// actix-http copies a piece before it writes the first byte of it, so a large body is handed to it in parts.
const PART: usize = 64 * 1024;

pub(crate) async fn convert(asked: Asked, reply: Response<Body>, keep: Keep) -> ActixResponse<BoxBody> {
    let (mut head, mut body) = reply.into_parts();
    let mut close = asked.last | asked.others_wait | head.headers.remove(header::CONNECTION).is_some();
    let size = if asked.method == Method::CONNECT && head.status.is_success() {
        // What follows such a head belongs to a tunnel, and there is none.
        close = true;
        head.headers.remove(header::CONTENT_LENGTH);
        BodySize::None
    } else {
        match size(&asked.method, &mut head, &body) {
            // As for a GET, actix-http would miss the body.
            BodySize::Sized(_) if asked.others_wait && asked.method == Method::HEAD => BodySize::None,
            size => size,
        }
    };
    let unframed = size == BodySize::Stream && asked.chunkless;
    close |= unframed;
    if let Some(InFlight(link)) = &keep.in_flight {
        link.reply_begins(close, unframed);
    }
    let mut rest = Bytes::new();
    if matches!(size, BodySize::Sized(length) if length <= PART as u64) && !body.is_end_stream() {
        // A body that is there already.
        let first = poll_fn(|cx| Poll::Ready(Pin::new(&mut body).poll_frame(cx))).await;
        if let Poll::Ready(Some(Ok(frame))) = first {
            rest = frame.into_data().unwrap_or_default();
        }
    }
    let body = if keep.pump.is_none() && size == BodySize::Sized(rest.len() as u64) {
        BoxBody::new(rest)
    } else {
        let link = keep.in_flight.as_ref().map(|InFlight(link)| link.clone());
        BoxBody::new(ReplyBody {
            body,
            rest,
            size,
            link,
            keep,
        })
    };
    let status = ActixStatus::from_u16(head.status.as_u16()).unwrap_or(ActixStatus::INTERNAL_SERVER_ERROR);
    let mut response = ActixResponse::with_body(status, body);
    for (name, value) in &head.headers {
        let name = HeaderName::from_bytes(name.as_str().as_bytes());
        // What the newer types take, the older ones take.
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.as_bytes())) {
            response.headers_mut().append(name, value);
        }
    }
    let head = response.head_mut();
    if status.canonical_reason().is_none() {
        // As the other servers write it.
        head.reason = Some("<none>");
    }
    if close {
        head.set_connection_type(ConnectionType::Close);
    }
    head.no_chunking(asked.chunkless);
    response
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
    /// Of the piece read last, the part that is not handed on yet.
    rest: Bytes,
    size: BodySize,
    link: Option<Rc<Link>>,
    keep: Keep,
}

impl MessageBody for ReplyBody {
    type Error = BodyError;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(pump) = &mut self.keep.pump {
            pump.poll(cx);
        }
        // An empty piece would be taken for the end.
        while self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                // Trailers cannot be written.
                Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    if let Some(link) = &self.link {
                        link.reply_is_whole();
                    }
                    return Poll::Ready(None);
                }
            }
        }
        let part = self.rest.len().min(PART);
        Poll::Ready(Some(Ok(self.rest.split_to(part))))
    }
}
