//! The reply, from the `http` crate's types to trillium's.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use http::{HeaderMap, Response, StatusCode, header};
use http_body::Body as HttpBody;
use pointwork_core::Body;
use trillium::{Conn, HeaderName, HeaderValue, KnownHeaderName, Method, Status};
use trillium_server_common::AsyncRead;

use crate::server::link::Link;

/// What a reply goes out over.
pub(crate) enum Below {
    /// A connection of the adapter's own server.
    Connection(Arc<Link>),
    /// A stream of one, by its number.
    Stream(Arc<Link>, u32),
    /// Somebody else's.
    Foreign,
}

/// Makes it the connection's reply.
pub(crate) fn put(conn: &mut Conn, reply: Response<Body>, below: Below) {
    let (head, body) = reply.into_parts();
    conn.set_status(native_status(head.status));
    put_headers(conn, &head.headers);
    let declared = head.headers.get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let bodiless = matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    if body.known_length() == Some(0) && (declared.is_some() || bodiless) {
        return;
    }
    let is_head = conn.method() == Method::Head;
    let is_tunnel = conn.method() == Method::Connect && head.status.is_success();
    if is_tunnel {
        // It makes trillium leave out the length, which RFC 9110 forbids here. There is no tunnel, so it does close.
        conn.response_headers_mut().insert(KnownHeaderName::Connection, "close");
    }
    // With a length of its own, trillium would announce 0 for a body that there is none of.
    let length = if is_head || is_tunnel {
        None
    } else {
        declared.or(body.known_length())
    };
    if is_head && declared.is_some() {
        return;
    }
    conn.set_body(trillium::Body::new_streaming(
        Outgoing {
            body,
            piece: Bytes::new(),
            left: length,
            below,
        },
        length,
    ));
}

/// The status in trillium's list, which has the registered ones, or the first of its class, which means the same to a
/// client that does not know it (RFC 9110, section 15).
pub(crate) fn native_status(status: StatusCode) -> Status {
    let code = status.as_u16();
    Status::try_from(code)
        .or_else(|_| Status::try_from(code / 100 * 100))
        .unwrap_or(Status::InternalServerError)
}

fn put_headers(conn: &mut Conn, headers: &HeaderMap) {
    let native = conn.response_headers_mut();
    for name in headers.keys() {
        // A header that a handler before this one set gives way; a cookie does not.
        if name != header::SET_COOKIE {
            native.remove(name.as_str());
        }
        for value in headers.get_all(name) {
            native.append(
                HeaderName::from(name.as_str().to_owned()),
                HeaderValue::from(value.as_bytes().to_vec()),
            );
        }
    }
}

/// A body as trillium reads it. What breaks off ends with an error, upon which trillium cuts the connection.
struct Outgoing {
    body: Body,
    piece: Bytes,
    /// How many bytes of a declared length are left.
    left: Option<u64>,
    below: Below,
}

impl Outgoing {
    fn broken(&self, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Poll<io::Result<usize>> {
        match &self.below {
            Below::Connection(link) => link.reply_broke_off(),
            Below::Stream(link, stream) => {
                link.streams.reset(*stream);
                link.wake();
            }
            Below::Foreign => {}
        }
        Poll::Ready(Err(io::Error::new(io::ErrorKind::UnexpectedEof, error)))
    }
}

impl AsyncRead for Outgoing {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        if buf.is_empty() || self.left == Some(0) {
            return Poll::Ready(Ok(0));
        }
        while self.piece.is_empty() {
            let frame = match Pin::new(&mut self.body).poll_frame(cx) {
                Poll::Ready(frame) => frame,
                Poll::Pending => {
                    let Below::Connection(link) = &self.below else {
                        return Poll::Pending;
                    };
                    ready!(link.poll_gone(cx));
                    return self.broken("the client is gone");
                }
            };
            match frame {
                Some(Ok(frame)) => self.piece = frame.into_data().unwrap_or_default(),
                Some(Err(error)) => return self.broken(error),
                None if self.left.is_some() => return self.broken("the reply is shorter than its declared length"),
                None => return Poll::Ready(Ok(0)),
            }
        }
        let left = self
            .left
            .map_or(usize::MAX, |left| usize::try_from(left).unwrap_or(usize::MAX));
        let length = self.piece.len().min(buf.len()).min(left);
        buf[..length].copy_from_slice(&self.piece[..length]);
        self.piece.advance(length);
        if let Some(left) = &mut self.left {
            *left -= length as u64;
        }
        Poll::Ready(Ok(length))
    }
}
