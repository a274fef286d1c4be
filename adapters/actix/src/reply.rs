//! Replies: from the core's types to actix-web's.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_web::HttpResponse;
use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::http::{ConnectionType, StatusCode as ActixStatus};
use bytes::Bytes;
use http::{Method, Response, StatusCode, Version, header};
use http_body::Body as _;
use pointwork_core::{Body, BodyError};

use crate::body::Pump;
use crate::connections::Phase;
use crate::link::InFlight;

/// What of a request decides the form of its reply.
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) version: Version,
}

/// What has to live as long as the reply is written.
#[derive(Default)]
pub(crate) struct Keep {
    /// The request's body, which may still be read.
    pub(crate) pump: Option<Pump>,
    pub(crate) in_flight: Option<InFlight>,
}

impl Keep {
    /// The whole body arrived, and actix-http may not have read it yet.
    pub(crate) fn rest_is_here(&self) -> bool {
        self.pump.is_some()
            && self
                .in_flight
                .as_ref()
                .is_some_and(|request| request.0.body_is_complete())
    }
}

/// An empty reply that ends the connection: to a head that is refused.
pub(crate) fn refusal(status: StatusCode, keep: Keep) -> HttpResponse {
    let mut reply = Response::new(Body::empty());
    *reply.status_mut() = status;
    let asked = Asked {
        method: Method::GET,
        version: Version::HTTP_11,
    };
    let mut response = convert(&asked, reply, keep);
    response.head_mut().set_connection_type(ConnectionType::Close);
    response
}

pub(crate) fn convert(asked: &Asked, reply: Response<Body>, keep: Keep) -> HttpResponse {
    let (mut head, mut body) = reply.into_parts();
    let mut close = head.headers.remove(header::CONNECTION).is_some();
    let http_10 = asked.version == Version::HTTP_10;
    let size = if asked.method == Method::CONNECT && head.status.is_success() {
        // What follows such a head belongs to a tunnel, and there is none.
        close = true;
        head.headers.remove(header::CONTENT_LENGTH);
        body = Body::empty();
        BodySize::None
    } else {
        size(&asked.method, &mut head, &body)
    };
    if size == BodySize::Stream && http_10 {
        // Only the end of the connection can end such a body.
        close = true;
    }
    if let Some(in_flight) = &keep.in_flight {
        in_flight.0.forget_continue();
        close |= in_flight.0.phase() != Phase::Serving || in_flight.0.body_is_broken();
    }
    let status = ActixStatus::from_u16(head.status.as_u16()).unwrap_or(ActixStatus::INTERNAL_SERVER_ERROR);
    let body = BoxBody::new(ReplyBody {
        body,
        rest: Bytes::new(),
        size,
        http_10,
        keep,
    });
    let mut response = HttpResponse::with_body(status, body);
    for (name, value) in &head.headers {
        let name = HeaderName::from_bytes(name.as_str().as_bytes());
        // What the newer types take, the older ones take.
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_bytes(value.as_bytes())) {
            response.headers_mut().append(name, value);
        }
    }
    if status.canonical_reason().is_none() {
        // actix-http would write a text in angle brackets.
        response.head_mut().reason = Some("");
    }
    if close {
        response.head_mut().set_connection_type(ConnectionType::Close);
    }
    response.head_mut().no_chunking(http_10);
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

/// actix-http copies a piece before it writes the first byte of it, so a large body is handed to it in parts.
const PART: usize = 64 * 1024;

struct ReplyBody {
    body: Body,
    /// Of the piece read last, what is not handed on yet.
    rest: Bytes,
    size: BodySize,
    http_10: bool,
    keep: Keep,
}

impl MessageBody for ReplyBody {
    type Error = BodyError;

    fn size(&self) -> BodySize {
        self.size
    }

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        if let Some(pump) = &mut self.keep.pump
            && pump.poll(cx).is_ready()
        {
            self.keep.pump = None;
        }
        // An empty piece would be taken for the end.
        while self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                // Trailers cannot be written.
                Some(Ok(frame)) => self.rest = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => {
                    if let (true, Some(in_flight)) = (self.http_10, &self.keep.in_flight) {
                        in_flight.0.reset_at_the_end();
                    }
                    return Poll::Ready(Some(Err(error)));
                }
                None => return Poll::Ready(None),
            }
        }
        let part = self.rest.len().min(PART);
        Poll::Ready(Some(Ok(self.rest.split_to(part))))
    }
}
