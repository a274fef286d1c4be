//! The heads of requests: read strictly and whole, before trillium sees anything of them.

use std::mem::MaybeUninit;

use bytes::BytesMut;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, Version, header};
use pointwork_core::ServerOptions;

use super::framing::Framing;

/// The longest target, as in the `http` crate.
const MAX_TARGET: usize = u16::MAX as usize - 1;

/// The head of one request.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) parts: Parts,
    pub(crate) framing: Framing,
    /// How long the body is, if the head says so.
    pub(crate) length: Option<u64>,
    /// The client waits to be told to go on before it sends its body.
    pub(crate) expects_100: bool,
    /// Whether the connection may serve another request.
    pub(crate) keep_alive: bool,
}

/// Takes a head off the front of the buffer; `None` if more bytes have to come.
///
/// # Errors
/// The status to refuse it with.
pub(crate) fn take(buffer: &mut BytesMut, options: &ServerOptions) -> Result<Option<Head>, StatusCode> {
    let most = usize::try_from(options.max_header_bytes).unwrap_or(usize::MAX);
    let mut few = [const { MaybeUninit::uninit() }; ServerOptions::DEFAULT_MAX_HEADERS];
    let mut many = Vec::new();
    let lines = match few.get_mut(..options.max_headers) {
        Some(few) => few,
        None => {
            many.resize_with(options.max_headers, MaybeUninit::uninit);
            &mut many[..]
        }
    };
    let mut native = httparse::Request::new(&mut []);
    let used = match native.parse_with_uninit_headers(buffer, lines) {
        Ok(httparse::Status::Complete(used)) if used <= most => used,
        Ok(httparse::Status::Complete(_)) | Err(httparse::Error::TooManyHeaders) => return Err(too_long(&native)),
        Ok(httparse::Status::Partial) if buffer.len() <= most => return Ok(None),
        Ok(httparse::Status::Partial) => return Err(too_long(&native)),
        Err(_) => return Err(StatusCode::BAD_REQUEST),
    };
    let head = convert(&native, options)?;
    let _ = buffer.split_to(used);
    Ok(Some(head))
}

fn too_long(native: &httparse::Request<'_, '_>) -> StatusCode {
    if native.path.is_some_and(|target| target.len() > MAX_TARGET) {
        StatusCode::URI_TOO_LONG
    } else {
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
    }
}

fn convert(native: &httparse::Request<'_, '_>, options: &ServerOptions) -> Result<Head, StatusCode> {
    let target = native.path.unwrap_or_default();
    if target.len() > MAX_TARGET {
        return Err(StatusCode::URI_TOO_LONG);
    }
    parse(native, target, options).ok_or(StatusCode::BAD_REQUEST)
}

fn parse(native: &httparse::Request<'_, '_>, target: &str, options: &ServerOptions) -> Option<Head> {
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.method = Method::from_bytes(native.method?.as_bytes()).ok()?;
    parts.uri = target.parse::<Uri>().ok()?;
    parts.version = match native.version? {
        0 => Version::HTTP_10,
        _ => Version::HTTP_11,
    };
    parts.headers.reserve(native.headers.len());
    for line in native.headers.iter() {
        let name = HeaderName::from_bytes(line.name.as_bytes()).ok()?;
        parts.headers.append(name, HeaderValue::from_bytes(line.value).ok()?);
    }
    let framing = Framing::of(parts.version, &parts.headers)?;
    let in_http_11 = parts.version == Version::HTTP_11;
    let asked = if in_http_11 {
        !has_token(&parts.headers, "close")
    } else {
        has_token(&parts.headers, "keep-alive")
    };
    let expect = parts.headers.get(header::EXPECT);
    Some(Head {
        expects_100: in_http_11 && expect.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"100-continue")),
        // After a CONNECT the client may speak something else.
        keep_alive: options.keep_alive
            && asked
            && !matches!(framing, Framing::Unclear)
            && parts.method != Method::CONNECT,
        length: framing.declared(),
        framing,
        parts,
    })
}

/// Whether `Connection` holds a word.
fn has_token(headers: &HeaderMap, token: &str) -> bool {
    let values = headers.get_all(header::CONNECTION).iter();
    let mut tokens = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(','));
    tokens.any(|word| word.trim().eq_ignore_ascii_case(token))
}

impl Head {
    /// What trillium is told of the request: what its routing and its replies depend on, in a form that its parser takes.
    /// Its own types would lose the order of the headers, and it would read the body.
    pub(crate) fn for_trillium(&self) -> String {
        let Parts {
            method, uri, version, ..
        } = &self.parts;
        let target = if method == Method::CONNECT {
            "host:0"
        } else {
            let target = uri.path_and_query().map_or("/", |target| target.as_str());
            let taken =
                target.starts_with('/') && target.bytes().all(|byte| matches!(byte, 0x21..=0x7e if byte != b'\\'));
            if taken { target } else { "/" }
        };
        let minor = u8::from(*version == Version::HTTP_11);
        let connection = if self.keep_alive { "keep-alive" } else { "close" };
        format!("{method} {target} HTTP/1.{minor}\r\nhost: host\r\nconnection: {connection}\r\n\r\n")
    }
}
