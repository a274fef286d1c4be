//! Requests, replies and events as one buffer each, for languages in which each pointer that crosses the boundary costs:
//! cgo, JNI, N-API.
//!
//! All numbers are little-endian. A *text* is its length in bytes as `u32`, and the bytes. *Headers* are their number as
//! `u32`, and a text for each name and each value, in turn.
//!
//! | buffer | layout |
//! |---|---|
//! | request | `u8` version of HTTP (10, 11, 20), `u8` 1 for https; method, target and peer as texts, the peer as `address:port` or empty; headers; the rest is the body |
//! | call of a route | the same, and between headers and body the parameters as headers are, the pattern of the route and the request's id |
//! | reply | `u16` status; headers; the rest is the body, or its first chunk |
//! | event | name, content type of the payload and id of the request as texts, the id empty for none; the rest is the payload |
//! | payload | content type; the rest is the data |

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use pointwork::{Body, Payload, Peer};

use crate::channel::EventCall;
use crate::error::{Error, ErrorKind};
use crate::route::RouteCall;

/// Reads a request. Its body, header values and target share the buffer.
///
/// # Errors
/// [`Refused`](ErrorKind::Refused) if the buffer is cut off, or a part of it cannot be in a request; it names the part.
pub fn read_request(buffer: Bytes) -> Result<Request<Body>, Error> {
    let mut reader = Reader(buffer);
    let version = match reader.number::<1>("the version of HTTP")? {
        [10] => Version::HTTP_10,
        [11] => Version::HTTP_11,
        [20] => Version::HTTP_2,
        [other] => return Err(invalid("the version of HTTP", &other.to_string(), "10, 11 or 20")),
    };
    let [is_secure] = reader.number::<1>("the scheme")?;
    let method = reader.text("the method")?;
    let method = Method::from_bytes(&method).map_err(|_| invalid("the method", &shown(&method), "an HTTP token"))?;
    let target = reader.text("the target")?;
    let uri = Uri::from_maybe_shared(target.clone()).map_err(|error| {
        invalid(
            "the target",
            &shown(&target),
            &format!("one such as `/products?page=2`: {error}"),
        )
    })?;
    let peer = reader.text("the peer")?;
    let peer = match &*peer {
        [] => None,
        text => {
            let address = str::from_utf8(text).ok().and_then(|text| text.parse().ok());
            Some(address.ok_or_else(|| invalid("the peer", &shown(text), "an address such as `192.0.2.7:4711`"))?)
        }
    };
    let headers = reader.headers()?;
    let mut request = Request::new(Body::from(reader.0));
    *request.version_mut() = version;
    *request.method_mut() = method;
    *request.uri_mut() = uri;
    *request.headers_mut() = headers;
    request.extensions_mut().insert(Peer::new(peer, is_secure == 1));
    Ok(request)
}

/// Writes the call of a route, with so much of its body as is there.
pub fn write_call(call: &RouteCall, body: &[u8]) -> Vec<u8> {
    let context = &call.context;
    let mut buffer = Vec::with_capacity(256 + body.len());
    buffer.push(match context.http_version() {
        Version::HTTP_10 => 10,
        Version::HTTP_2 => 20,
        _ => 11,
    });
    buffer.push(u8::from(context.scheme() == "https"));
    put(&mut buffer, context.method().as_str());
    let target = match context.query() {
        Some(query) => Cow::Owned(format!("{}?{query}", context.path())),
        None => Cow::Borrowed(context.path()),
    };
    put(&mut buffer, &*target);
    put(&mut buffer, context.remote_address().unwrap_or_default());
    put_headers(&mut buffer, context.headers());
    let params: Vec<_> = context.params().iter().collect();
    put_number(&mut buffer, params.len());
    for (name, value) in params {
        put(&mut buffer, name);
        put(&mut buffer, value);
    }
    put(&mut buffer, &context.route().path);
    put(&mut buffer, context.request_id().to_string());
    buffer.extend_from_slice(body);
    buffer
}

/// Reads a reply. Its body and header values share the buffer.
///
/// # Errors
/// As [`read_request`].
pub fn read_reply(buffer: Bytes) -> Result<Response<Body>, Error> {
    let mut reader = Reader(buffer);
    let status = u16::from_le_bytes(reader.number("the status")?);
    let status = StatusCode::from_u16(status).map_err(|_| invalid("the status", &status.to_string(), "100 to 999"))?;
    let headers = reader.headers()?;
    let mut reply = Response::new(Body::from(reader.0));
    *reply.status_mut() = status;
    *reply.headers_mut() = headers;
    Ok(reply)
}

/// Writes a reply, with so much of its body as is there.
pub fn write_reply(reply: &http::response::Parts, body: &[u8]) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(128 + body.len());
    buffer.extend_from_slice(&reply.status.as_u16().to_le_bytes());
    put_headers(&mut buffer, &reply.headers);
    buffer.extend_from_slice(body);
    buffer
}

/// Writes an event.
pub fn write_event(event: &EventCall) -> Vec<u8> {
    let data = event.payload.data();
    let mut buffer = Vec::with_capacity(96 + data.len());
    put(&mut buffer, event.event());
    put(&mut buffer, event.payload.content_type());
    put(&mut buffer, event.request_id().unwrap_or_default());
    buffer.extend_from_slice(data);
    buffer
}

/// Reads a payload. Its data shares the buffer.
///
/// # Errors
/// As [`read_request`].
pub fn read_payload(buffer: Bytes) -> Result<Payload, Error> {
    let mut reader = Reader(buffer);
    let content_type = reader.text("the content type")?;
    let content_type = str::from_utf8(&content_type)
        .map_err(|_| invalid("the content type", &shown(&content_type), "text"))?
        .to_owned();
    Ok(Payload::new(content_type, reader.0))
}

/// Writes a payload.
pub fn write_payload(payload: &Payload) -> Vec<u8> {
    let mut buffer = Vec::with_capacity(32 + payload.data().len());
    put(&mut buffer, payload.content_type());
    buffer.extend_from_slice(payload.data());
    buffer
}

struct Reader(Bytes);

impl Reader {
    fn number<const N: usize>(&mut self, of: &str) -> Result<[u8; N], Error> {
        let number = self.0.first_chunk::<N>().copied();
        let number = number.ok_or_else(|| cut_off(of))?;
        self.0 = self.0.slice(N..);
        Ok(number)
    }

    fn text(&mut self, of: &str) -> Result<Bytes, Error> {
        let length = u32::from_le_bytes(self.number(of)?);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        if length > self.0.len() {
            return Err(cut_off(of));
        }
        Ok(self.0.split_to(length))
    }

    fn headers(&mut self) -> Result<HeaderMap, Error> {
        let count = u32::from_le_bytes(self.number("the number of headers")?);
        let mut headers = HeaderMap::new();
        for _ in 0..count {
            let name = self.text("the name of a header")?;
            let name = HeaderName::from_bytes(&name)
                .map_err(|_| invalid("the name of a header", &shown(&name), "an HTTP token"))?;
            let value = self.text("the value of a header")?;
            let value = HeaderValue::from_maybe_shared(value.clone()).map_err(|_| {
                invalid(
                    &format!("the value of header `{name}`"),
                    &shown(&value),
                    "no control characters",
                )
            })?;
            headers.try_append(name, value).map_err(|_| {
                Error::new(
                    ErrorKind::Refused,
                    "the buffer has more headers than a message can have",
                )
            })?;
        }
        Ok(headers)
    }
}

fn cut_off(of: &str) -> Error {
    Error::new(ErrorKind::Refused, format!("the buffer ends within {of}"))
}

fn invalid(part: &str, value: &str, expected: &str) -> Error {
    Error::new(ErrorKind::Refused, format!("{part} is `{value}`, expected {expected}"))
}

/// A text for a message: in one line, and not too long.
fn shown(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    pointwork_core::one_line(&text, 64).to_string()
}

fn put_number(buffer: &mut Vec<u8>, number: usize) {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    buffer.extend_from_slice(&number.to_le_bytes());
}

fn put(buffer: &mut Vec<u8>, text: impl AsRef<[u8]>) {
    let text = text.as_ref();
    put_number(buffer, text.len());
    buffer.extend_from_slice(text);
}

fn put_headers(buffer: &mut Vec<u8>, headers: &HeaderMap) {
    put_number(buffer, headers.len());
    for (name, value) in headers {
        put(buffer, name);
        put(buffer, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> Vec<u8> {
        let mut buffer = vec![11, 1];
        ["POST", "/a?b=c", "192.0.2.7:4711"]
            .iter()
            .for_each(|text| put(&mut buffer, text));
        let mut headers = HeaderMap::new();
        headers.append("accept", HeaderValue::from_static("a"));
        headers.append("accept", HeaderValue::from_static("b"));
        put_headers(&mut buffer, &headers);
        buffer.extend_from_slice(b"body");
        buffer
    }

    #[test]
    fn a_request_is_read_and_its_body_is_not_copied() {
        let buffer = Bytes::from(request());
        let place = buffer[buffer.len() - 4..].as_ptr();
        let request = read_request(buffer).unwrap();
        assert_eq!(
            (request.method().as_str(), request.uri().to_string()),
            ("POST", "/a?b=c".to_owned())
        );
        assert_eq!(request.headers().get_all("accept").iter().count(), 2);
        assert_eq!(
            request.extensions().get::<Peer>(),
            Some(&Peer::new(Some(([192, 0, 2, 7], 4711).into()), true))
        );
        let body = request.into_body().try_into_bytes().unwrap();
        assert_eq!((&*body, body.as_ptr()), (&b"body"[..], place));
    }

    #[test]
    fn a_buffer_that_is_cut_off_or_wrong_is_refused_with_its_part() {
        let whole = request();
        for length in 0..whole.len() - 4 {
            let error = read_request(Bytes::copy_from_slice(&whole[..length])).unwrap_err();
            assert!(
                error.to_string().starts_with("the buffer ends within the "),
                "{length}: {error}"
            );
        }
        let changed = |at: usize, byte: u8| {
            let mut buffer = whole.clone();
            buffer[at] = byte;
            read_request(buffer.into()).unwrap_err().to_string()
        };
        assert_eq!(changed(0, 12), "the version of HTTP is `12`, expected 10, 11 or 20");
        assert_eq!(changed(6, b' '), "the method is ` OST`, expected an HTTP token");
        assert!(changed(14, b' ').starts_with("the target is ` a?b=c`, expected"));
        assert!(changed(24, b'x').starts_with("the peer is `x92.0.2.7:4711`, expected"));
        let reply = read_reply(Bytes::from_static(&[99, 0, 0, 0, 0, 0])).unwrap_err();
        assert_eq!(reply.to_string(), "the status is `99`, expected 100 to 999");
    }

    #[test]
    fn replies_and_payloads_come_back_as_they_were() {
        let reply = Response::builder()
            .status(201)
            .header("location", "/7")
            .body(())
            .unwrap();
        let (head, ()) = reply.into_parts();
        let read = read_reply(write_reply(&head, b"made").into()).unwrap();
        assert_eq!(
            (read.status(), &read.headers()["location"]),
            (head.status, &head.headers["location"])
        );
        assert_eq!(read.into_body().try_into_bytes().unwrap(), "made");
        let payload = Payload::json(&[1, 2]).unwrap();
        let read = read_payload(write_payload(&payload).into()).unwrap();
        assert_eq!(
            (read.content_type(), read.data()),
            (payload.content_type(), payload.data())
        );
    }
}
