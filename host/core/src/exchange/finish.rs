//! The last step of every reply, whoever made it.

use http::{HeaderValue, Method, Response, StatusCode, header};

use super::body::Body;
use super::reply::error_reply;
use crate::request_id::{REQUEST_ID_HEADER, RequestId};
use crate::routing::sanitize::{BodyRule, sanitize};

/// A `HeaderMap` panics where it cannot grow any more, which is not far beyond.
const MOST_HEADERS: usize = 16 * 1024;

/// Makes a reply fit for the wire, with the id of its request (spec H9).
pub(crate) fn finish(method: &Method, id: &RequestId, reply: Response<Body>) -> Response<Body> {
    let (mut head, mut body) = reply.into_parts();
    let count = head.headers.len();
    if count > MOST_HEADERS {
        tracing::error!("a reply was refused: it has {count} headers, expected at most {MOST_HEADERS}");
        return finish(
            method,
            id,
            error_reply(StatusCode::INTERNAL_SERVER_ERROR, "internal error"),
        );
    }
    let sanitized = match sanitize(method, &mut head, body.known_length()) {
        Ok(sanitized) => sanitized,
        Err(bad) => {
            tracing::error!("a reply was refused: {bad}");
            return finish(
                method,
                id,
                error_reply(StatusCode::INTERNAL_SERVER_ERROR, "internal error"),
            );
        }
    };
    if !sanitized.stripped.is_empty() {
        tracing::warn!(headers = ?sanitized.stripped, "headers that only the server may set were dropped");
    }
    head.headers.insert(REQUEST_ID_HEADER, id.header());
    if let Some(length) = sanitized.content_length {
        head.headers.insert(header::CONTENT_LENGTH, content_length(length));
    }
    if sanitized.body == BodyRule::Drop {
        body = Body::empty();
    }
    Response::from_parts(head, body)
}

/// A `Content-Length`, without an allocation for the short replies that most are.
fn content_length(length: u64) -> HeaderValue {
    static SHORT: [[u8; 3]; 1000] = {
        let mut texts = [[0; 3]; 1000];
        let mut number = 0;
        while number < texts.len() {
            let digits = [number / 100, number / 10 % 10, number % 10];
            texts[number] = [b'0' + digits[0] as u8, b'0' + digits[1] as u8, b'0' + digits[2] as u8];
            number += 1;
        }
        texts
    };
    let digits = match length {
        0..10 => 1,
        10..100 => 2,
        100..1000 => 3,
        _ => return HeaderValue::from(length),
    };
    let text = str::from_utf8(&SHORT[length as usize][3 - digits..]);
    text.map_or_else(|_| HeaderValue::from(length), HeaderValue::from_static)
}
