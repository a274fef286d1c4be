//! Heads of requests, as the client sent them.

use std::mem::MaybeUninit;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri, Version, header};
use httparse::{EMPTY_HEADER, Status};
use pointwork_core::ServerOptions;

use crate::framing::Framing;

/// What the service finds in the connection's [`Link`](crate::link::Link) when actix-web calls it.
pub(crate) enum Arrival {
    Request(Box<Arrived>),
    /// To be answered with this status and nothing else; the connection closes.
    Refused(StatusCode),
}

/// The head of a request, exactly as it came.
pub(crate) struct Arrived {
    pub(crate) parts: Parts,
    pub(crate) has_body: bool,
    /// The client waits for `100 Continue` before it sends the body.
    pub(crate) expects_continue: bool,
}

/// A head, and what actix-http is given in its place.
pub(crate) struct Head {
    pub(crate) arrived: Arrived,
    pub(crate) framing: Framing,
    pub(crate) keep_alive: bool,
    /// Method, target, and what concerns the framing and the connection, in a form that actix-http neither refuses nor
    /// treats in a way of its own.
    pub(crate) stand_in: Bytes,
}

/// A longer target is none for [`Uri`].
const LONGEST_TARGET: usize = (u16::MAX - 1) as usize;

/// How many header lines find room without an allocation.
const FEW: usize = ServerOptions::DEFAULT_MAX_HEADERS;

/// Takes a head from the front of the bytes; `None` if its end is not there yet.
///
/// # Errors
/// The status to refuse it with.
pub(crate) fn take(bytes: &mut BytesMut, options: &ServerOptions) -> Result<Option<Head>, StatusCode> {
    let most = usize::try_from(options.max_header_bytes).unwrap_or(usize::MAX);
    let mut request = httparse::Request::new(&mut []);
    let mut few = [const { MaybeUninit::uninit() }; FEW];
    let mut many;
    let status = if options.max_headers <= FEW {
        request.parse_with_uninit_headers(bytes, &mut few[..options.max_headers])
    } else {
        // A header line is three bytes at least.
        many = vec![EMPTY_HEADER; options.max_headers.min(bytes.len() / 3 + 1)];
        request = httparse::Request::new(&mut many);
        request.parse(bytes)
    };
    let length = match status {
        Ok(Status::Complete(length)) if length <= most => length,
        Ok(Status::Partial) if bytes.len() < most => return Ok(None),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => return Err(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
        Err(_) => return Err(StatusCode::BAD_REQUEST),
    };
    // One allocation that the header values share, of the size they need, so that the buffer can be used again.
    let copy = Bytes::copy_from_slice(&bytes[..length]);
    let start = bytes.as_ptr() as usize;
    let part = |part: &[u8]| {
        let at = part.as_ptr() as usize - start;
        copy.slice(at..at + part.len())
    };
    let head = read(&request, part, options)?;
    bytes.advance(length);
    Ok(Some(head))
}

fn read(
    request: &httparse::Request<'_, '_>,
    part: impl Fn(&[u8]) -> Bytes,
    options: &ServerOptions,
) -> Result<Head, StatusCode> {
    const BAD: StatusCode = StatusCode::BAD_REQUEST;
    let target = request.path.ok_or(BAD)?;
    if target.len() > LONGEST_TARGET {
        return Err(StatusCode::URI_TOO_LONG);
    }
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.method = Method::from_bytes(request.method.ok_or(BAD)?.as_bytes()).map_err(|_| BAD)?;
    parts.uri = Uri::from_maybe_shared(part(target.as_bytes())).map_err(|_| BAD)?;
    parts.version = match request.version {
        Some(0) => Version::HTTP_10,
        _ => Version::HTTP_11,
    };
    let mut facts = Facts::new(parts.version);
    parts.headers.reserve(request.headers.len());
    for line in &*request.headers {
        let name = HeaderName::from_bytes(line.name.as_bytes()).map_err(|_| BAD)?;
        let value = HeaderValue::from_maybe_shared(part(line.value)).map_err(|_| BAD)?;
        facts.note(&name, &value).ok_or(BAD)?;
        parts.headers.append(name, value);
    }
    let framing = facts.framing().ok_or(BAD)?;
    let keep_alive = facts.keep_alive && options.keep_alive;
    Ok(Head {
        stand_in: stand_in(&parts, target, framing, keep_alive),
        framing,
        keep_alive,
        arrived: Arrived {
            parts,
            has_body: framing != Framing::Empty,
            expects_continue: facts.expects_continue && framing != Framing::Empty,
        },
    })
}

/// What the header lines say of the body and the connection.
struct Facts {
    version: Version,
    length: Option<u64>,
    /// Whether `chunked` is the last of the transfer codings.
    chunked: Option<bool>,
    keep_alive: bool,
    expects_continue: bool,
}

impl Facts {
    fn new(version: Version) -> Self {
        Self {
            version,
            length: None,
            chunked: None,
            keep_alive: version == Version::HTTP_11,
            expects_continue: false,
        }
    }

    /// `None` if the line makes the head one to refuse: where its body ends would be uncertain (RFC 9112, section 6).
    fn note(&mut self, name: &HeaderName, value: &HeaderValue) -> Option<()> {
        match *name {
            header::CONTENT_LENGTH => {
                let taken = self.length.is_some() || self.chunked.is_some();
                self.length = Some(decimal(value.as_bytes()).filter(|_| !taken)?);
            }
            header::TRANSFER_ENCODING => {
                if self.length.is_some() || self.version == Version::HTTP_10 {
                    return None;
                }
                let last = value.as_bytes().rsplit(|byte| *byte == b',').next()?;
                self.chunked = Some(last.trim_ascii().eq_ignore_ascii_case(b"chunked"));
            }
            header::CONNECTION => {
                let has = |wanted: &[u8]| {
                    let mut options = value.as_bytes().split(|byte| *byte == b',');
                    options.any(|option| option.trim_ascii().eq_ignore_ascii_case(wanted))
                };
                self.keep_alive = if self.keep_alive {
                    !has(b"close")
                } else {
                    self.version == Version::HTTP_10 && has(b"keep-alive")
                };
            }
            header::EXPECT => {
                self.expects_continue =
                    self.version == Version::HTTP_11 && value.as_bytes().eq_ignore_ascii_case(b"100-continue");
            }
            _ => {}
        }
        Some(())
    }

    fn framing(&self) -> Option<Framing> {
        match (self.chunked, self.length) {
            (Some(true), _) => Some(Framing::chunked()),
            (Some(false), _) => None,
            (None, Some(length @ 1..)) => Some(Framing::Length(length)),
            (None, _) => Some(Framing::Empty),
        }
    }
}

/// Digits alone; `u64::from_str` would take a sign.
fn decimal(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    digits.then(|| str::from_utf8(text).ok()?.parse().ok()).flatten()
}

/// See [`Head::stand_in`].
///
/// actix-http takes a body for CONNECT up to the end of the connection, takes one for `Upgrade: websocket` too, answers
/// `Expect` before anybody reads, and refuses some requests that are in order: in HTTP/1.0 a POST without a length, and
/// an absolute target without `Host`. None of this is in the stand-in.
fn stand_in(parts: &Parts, target: &str, framing: Framing, keep_alive: bool) -> Bytes {
    let mut text = BytesMut::with_capacity(target.len() + 128);
    // Its types are of another version, which may refuse what ours take. Then no resource of its own matches.
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    text.put_slice(match parts.method.as_str().as_bytes() {
        b"CONNECT" => b"TUNNEL",
        method if method.iter().copied().all(plain) => method,
        _ => b"OTHER",
    });
    text.put_u8(b' ');
    let plain = |byte: u8| plain(byte) || b"/.~%?=&+:@!$'()*,;".contains(&byte);
    text.put_slice(if target.bytes().all(plain) {
        target.as_bytes()
    } else {
        b"/"
    });
    text.put_slice(match (parts.version, keep_alive) {
        (Version::HTTP_10, true) => b" HTTP/1.0\r\nhost: a\r\nconnection: keep-alive\r\n",
        (Version::HTTP_10, false) => b" HTTP/1.0\r\nhost: a\r\n",
        (_, true) => b" HTTP/1.1\r\nhost: a\r\n",
        (_, false) => b" HTTP/1.1\r\nhost: a\r\nconnection: close\r\n",
    });
    match framing {
        Framing::Length(length) => text.put_slice(format!("content-length: {length}\r\n").as_bytes()),
        Framing::Chunked(_) => text.put_slice(b"transfer-encoding: chunked\r\n"),
        Framing::Empty if parts.version == Version::HTTP_10 => text.put_slice(b"content-length: 0\r\n"),
        Framing::Empty => {}
    }
    text.put_slice(b"\r\n");
    text.freeze()
}

/// What stands in for a request that is refused: the service answers it as the [`Link`](crate::link::Link) says.
pub(crate) const REFUSED: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

#[cfg(test)]
mod tests;
