//! The reply, from the `http` crate's types to trillium's.

use std::future::ready;
use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::future::lazy;
use futures_util::io::{AsyncReadExt as _, empty};
use futures_util::stream::{once, poll_fn};
use futures_util::{StreamExt as _, TryStreamExt as _};
use http::{HeaderMap, Response, StatusCode, header};
use http_body::Body as _;
use http_body_util::BodyDataStream;
use pointwork_core::Body;
use trillium::{Conn, HeaderName, HeaderValue, KnownHeaderName, Method, Status, Version};

use crate::request::in_streams;
use crate::socket::Socket;

/// The longest body that is handed over whole, in bytes. A longer one goes chunk by chunk, which copies it in chunks.
const WHOLE: u64 = 64 * 1024;

/// Makes it the connection's reply, and the last one if the connection `ends` with it.
pub(crate) fn put(conn: &mut Conn, reply: Response<Body>, ends: bool) {
    let (head, body) = reply.into_parts();
    conn.set_status(native_status(head.status));
    put_headers(conn, &head.headers);
    let declared = head.headers.get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    let length = declared.or(body.known_length());
    let is_head = conn.method() == Method::Head;
    let is_tunnel = conn.method() == Method::Connect && head.status.is_success();
    let is_bodiless = matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let is_framed = is_bodiless || (length.is_some() && !is_tunnel);
    if !in_streams(conn) {
        let ends = ends || head.headers.contains_key(header::CONNECTION);
        put_connection(conn, ends, is_tunnel, is_framed);
    }
    if is_bodiless || (is_head && declared.is_some()) || (length == Some(0) && !is_head && !is_tunnel) {
        return;
    }
    let native = if is_head || is_tunnel {
        // The body is not sent. A length of it would be announced all the same.
        trillium::Body::new_streaming(empty(), None)
    } else {
        native_body(conn, body, length)
    };
    conn.set_body(native);
}

/// The status in trillium's list, which has the registered ones, or the first of its class, which means the same to a
/// client that does not know it (RFC 9110, section 15).
fn native_status(status: StatusCode) -> Status {
    let code = status.as_u16();
    Status::try_from(code)
        .or_else(|_| Status::try_from(code / 100 * 100))
        .unwrap_or(Status::InternalServerError)
}

fn put_headers(conn: &mut Conn, headers: &HeaderMap) {
    let native = conn.response_headers_mut();
    for name in headers.keys() {
        let mut values = headers.get_all(name).iter();
        let native_name = HeaderName::from(name.as_str()).into_owned();
        // A header that a handler before this one set gives way; a cookie does not.
        if name != header::SET_COOKIE
            && let Some(first) = values.next()
        {
            native.insert(native_name.clone(), HeaderValue::from(first.as_bytes().to_vec()));
        }
        for value in values {
            native.append(native_name.clone(), HeaderValue::from(value.as_bytes().to_vec()));
        }
    }
}

/// Sets the headers of the connection.
///
/// In a reply of unknown length trillium takes `close` to mean that the reply ends with the connection: a reply that broke
/// off would look whole. So a reply of unknown length never has `close`. The same word among the headers of the request
/// makes trillium close all the same. In a reply to CONNECT it makes trillium leave out the length, which RFC 9110
/// forbids there.
fn put_connection(conn: &mut Conn, ends: bool, is_tunnel: bool, is_framed: bool) {
    let has_token = |word: &str| {
        let mut tokens = conn.request_headers().token_iter(KnownHeaderName::Connection);
        tokens.any(|token| token.eq_ignore_ascii_case(word))
    };
    let ends = ends || is_tunnel || has_token("close");
    let stays = conn.http_version() == Version::Http1_0 && has_token("keep-alive");
    let word = match (ends, stays) {
        (true, _) => Some("close"),
        (false, true) => Some("keep-alive"),
        (false, false) => None,
    };
    let native = conn.response_headers_mut();
    if !is_framed && !is_tunnel {
        native.remove(KnownHeaderName::Connection);
    } else if let Some(word) = word {
        native.insert(KnownHeaderName::Connection, word);
    }
    if ends {
        conn.request_headers_mut().insert(KnownHeaderName::Connection, "close");
    }
}

fn native_body(conn: &mut Conn, mut body: Body, length: Option<u64>) -> trillium::Body {
    let mut chunk = Bytes::new();
    if length.is_some_and(|length| length <= WHOLE) {
        match Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(Ok(frame))) => chunk = frame.into_data().unwrap_or_default(),
            // It broke off, and so does the empty body, which is too short.
            Poll::Ready(_) => body = Body::empty(),
            Poll::Pending => {}
        }
        if length == Some(chunk.len() as u64) {
            return trillium::Body::new_static(Vec::from(chunk));
        }
    }
    // In HTTP/1.0 the end of the connection is the reply's.
    let complete = if length.is_none() && conn.http_version() == Version::Http1_0 {
        Socket::below(conn).map(Socket::reset_unless_complete)
    } else {
        None
    };
    // When it breaks off it ends with an error, upon which trillium closes the connection.
    let end = move || match (length, complete) {
        (Some(_), _) => Err(broken("the reply is shorter than its declared length")),
        (None, complete) => {
            if let Some(complete) = complete {
                complete.store(true, Ordering::Relaxed);
            }
            Ok(Bytes::new())
        }
    };
    let mut client = Socket::below(conn).and_then(Socket::client);
    let mut rest = BodyDataStream::new(body).map_err(broken);
    let rest = poll_fn(move |cx| match (rest.poll_next_unpin(cx), &mut client) {
        (Poll::Pending, Some(client)) => client
            .poll_gone(cx)
            .map(|()| Some(Err(broken("the client disconnected")))),
        (polled, _) => polled,
    });
    let chunks = once(ready(Ok(chunk))).chain(rest).chain(once(lazy(|_| end())));
    let outgoing = chunks.into_async_read().take(length.unwrap_or(u64::MAX));
    trillium::Body::new_streaming(outgoing, length)
}

/// Of this kind trillium does not log an error.
fn broken(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, error)
}
