//! The last step of every reply, of handlers and of the router: only the server sets the headers of the connection and of message framing.

use http::header::{CONNECTION, CONTENT_LENGTH};
use http::response::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};

use super::body::Body;
use super::handler::error_reply;
use crate::crash::INTERNAL_ERROR;
use crate::request_id::{REQUEST_ID_HEADER, RequestId};

/// A `HeaderMap` panics where it cannot grow any more, which is not far beyond.
const MOST_HEADERS: usize = 16 * 1024;

/// Makes a reply fit for the wire, with the id of its request (spec H9).
pub(crate) fn finish(method: &Method, id: &RequestId, reply: Response<Body>) -> Response<Body> {
    let (mut head, mut body) = reply.into_parts();
    if let Err(refusal) = check(&head) {
        tracing::error!("a reply was refused: {refusal}");
        let reply = error_reply(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL_ERROR);
        return finish(method, id, reply);
    }
    let stripped = strip(&mut head.headers);
    if !stripped.is_empty() {
        tracing::warn!(headers = ?stripped, "headers that only the server may set were dropped");
    }
    head.headers.insert(REQUEST_ID_HEADER, id.header());
    let (has_body, length) = framing(method, head.status, body.known_length());
    if let Some(length) = length {
        head.headers.insert(CONTENT_LENGTH, content_length(length));
    }
    if !has_body {
        body = Body::empty();
    }
    Response::from_parts(head, body)
}

/// # Errors
/// Why the head cannot be sent. A status below 200 is not a final answer.
fn check(head: &Parts) -> Result<(), String> {
    let (status, count) = (head.status.as_u16(), head.headers.len());
    if count > MOST_HEADERS {
        return Err(format!("it has {count} headers, expected at most {MOST_HEADERS}"));
    }
    if !(200..600).contains(&status) {
        return Err(format!("status {status} is not a final answer, expected 200 to 599"));
    }
    Ok(())
}

/// Whether the body is sent, and the `Content-Length` to set. Where no body is allowed, a client would take its bytes for the
/// next response.
///
/// | response | body | `Content-Length` |
/// |---|---|---|
/// | 204, 2xx to CONNECT | dropped | none, RFC 9110 forbids it |
/// | 304 | dropped | none: the size of the body of the 200 is not known |
/// | 205 | dropped | 0 |
/// | to HEAD | dropped | the size of the body of the same GET, if known |
/// | any other | kept | the size of the body, if known |
fn framing(method: &Method, status: StatusCode, known_length: Option<u64>) -> (bool, Option<u64>) {
    match status {
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED => (false, None),
        _ if *method == Method::CONNECT && status.is_success() => (false, None),
        StatusCode::RESET_CONTENT => (false, Some(0)),
        _ => (*method != Method::HEAD, known_length),
    }
}

/// Removes the headers that a handler must not set, and returns each once.
///
/// `Proxy-Authenticate` and `Proxy-Authentication-Info` stay: RFC 9110 does not count them among the headers of the
/// connection, and a handler that acts as a gateway needs the former for its 407.
fn strip(headers: &mut HeaderMap) -> Vec<HeaderName> {
    let mut names: Vec<HeaderName> = headers.keys().filter(|name| belongs_to_host(name)).cloned().collect();
    if names.contains(&CONNECTION) {
        let named = headers
            .get_all(CONNECTION)
            .iter()
            .flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
        for name in named {
            let Ok(name) = HeaderName::from_bytes(name.trim_ascii()) else {
                continue;
            };
            if headers.contains_key(&name) && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    for name in &names {
        headers.remove(name);
    }
    names
}

fn belongs_to_host(name: &HeaderName) -> bool {
    matches!(
        name.as_str(),
        "connection"
            | "content-length"
            | "keep-alive"
            | "proxy-connection"
            | "te"
            | "trailer"
            | "transfer-encoding"
            | "upgrade"
    )
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

#[cfg(test)]
mod tests;
