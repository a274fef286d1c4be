//! The head of a request, from trillium's types to those of the `http` crate.

use std::borrow::Cow;

use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Uri};
use pointwork_core::{Extensions, Peer};
use trillium::{Conn, KnownHeaderName};
use trillium_http::Conn as HttpConn;

type Native = HttpConn<Box<dyn trillium::Transport>>;

/// The longest target that the `http` crate takes, in bytes.
pub(crate) const LONGEST_TARGET: usize = u16::MAX as usize - 1;

/// Whether the connection speaks HTTP/2 or later.
pub(crate) fn in_streams(conn: &Conn) -> bool {
    conn.http_version() > trillium::Version::Http1_1
}

/// The length of the body; `None` if it is not known beforehand.
pub(crate) fn body_length(conn: &Conn) -> Option<u64> {
    let headers = conn.request_headers();
    if headers.has_header(KnownHeaderName::TransferEncoding) {
        return None;
    }
    let length = headers.content_length();
    length.or_else(|| (!in_streams(conn)).then_some(0))
}

/// The head as the client sent it, as far as trillium kept it; `None` if the `http` crate refuses it: trillium's parser
/// accepts more.
pub(crate) fn head(conn: &Conn) -> Option<Parts> {
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.method = conn.method().try_into().ok()?;
    parts.version = conn.http_version().into();
    parts.uri = target(conn, &parts.method)?;
    parts.headers = headers(conn.request_headers())?;
    if let Some(extensions) = conn.state::<Extensions>() {
        parts.extensions.insert(extensions.clone());
    }
    Some(parts)
}

/// The other end of the connection. A handler before this one may have set another address.
pub(crate) fn peer(conn: &mut Conn) -> Peer {
    if let Some(peer) = conn.state::<Peer>() {
        return *peer;
    }
    let (ip, is_secure) = (conn.peer_ip(), conn.is_secure());
    let native: &mut Native = conn.as_mut();
    let address = native.transport_mut().peer_addr().ok().flatten();
    match ip {
        Some(ip) if address.is_none_or(|address| address.ip() != ip) => Peer::without_port(ip, is_secure),
        _ => Peer::new(address, is_secure),
    }
}

/// The length of a head in bytes as HTTP/1.1 writes it, with one space behind each colon.
pub(crate) fn length(conn: &Conn, head: &Parts) -> usize {
    const FIRST_LINE: usize = "  HTTP/1.1\r\n".len();
    const LINE: usize = ": \r\n".len();
    let native: &Native = conn.as_ref();
    let authority = native.authority().map_or(0, str::len) + native.scheme().map_or(0, |scheme| scheme.len() + 3);
    let lines = head.headers.iter();
    let lines = lines.map(|(name, value)| name.as_str().len() + value.len() + LINE);
    let method = head.method.as_str().len();
    lines.sum::<usize>() + method + authority + native.path_and_query().len() + FIRST_LINE + 2
}

fn target(conn: &Conn, method: &Method) -> Option<Uri> {
    let native: &Native = conn.as_ref();
    if *method == Method::CONNECT {
        return native.authority()?.parse().ok();
    }
    let path = path_and_query(conn, native);
    match (native.scheme(), native.authority()) {
        (Some(scheme), Some(authority)) => Uri::builder()
            .scheme(scheme)
            .authority(authority)
            .path_and_query(&*path)
            .build()
            .ok(),
        _ => path.parse().ok(),
    }
}

/// The path that the routes match, without the query.
pub(crate) fn path(conn: &Conn) -> Cow<'_, str> {
    let native: &Native = conn.as_ref();
    match path_and_query(conn, native) {
        Cow::Borrowed(target) => target.split('?').next().unwrap_or_default().into(),
        Cow::Owned(mut target) => {
            target.truncate(target.find('?').unwrap_or(target.len()));
            target.into()
        }
    }
}

/// The rest of the path below the router that the adapter is mounted in. trillium keeps it without the slashes before and
/// behind it.
fn path_and_query<'c>(conn: &'c Conn, native: &'c Native) -> Cow<'c, str> {
    let (whole, left) = (native.path(), conn.path());
    if whole == left {
        return native.path_and_query().into();
    }
    let ends = whole.trim_end_matches('/').len();
    let slashes = if left.ends_with('/') { "" } else { &whole[ends..] };
    let mut path = format!("/{}{slashes}", left.trim_start_matches('/'));
    if path.ends_with("//") && left.is_empty() {
        path.truncate(1);
    }
    if let Some((_, query)) = native.path_and_query().split_once('?') {
        path.push('?');
        path.push_str(query);
    }
    path.into()
}

fn headers(native: &trillium::Headers) -> Option<HeaderMap> {
    let mut headers = HeaderMap::with_capacity(native.len());
    for (name, values) in native {
        let name = HeaderName::from_bytes(name.as_ref().as_bytes()).ok()?;
        for value in values {
            headers.append(name.clone(), HeaderValue::from_bytes(value.as_ref()).ok()?);
        }
    }
    Some(headers)
}
