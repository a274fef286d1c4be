//! The request guard: refuses request heads that HTTP servers treat differently, so that all adapters behave the same.

use std::net::Ipv6Addr;
use std::str::FromStr;

use http::header::{CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode, Version};

/// The reason why the guard refuses a request, before routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.reason())]
#[non_exhaustive]
pub enum Refusal {
    /// HTTP/1.1 without a `Host` header, or HTTP/2 and later with neither that nor an authority.
    NoHost,
    /// More than one `Host` header, even if they are equal.
    SeveralHosts,
    /// The `Host` header is not a host with an optional port.
    BadHost,
    /// The authority of the target is not a host with an optional port, or that of a CONNECT has no port.
    BadAuthority,
    /// The scheme of the target is empty, or does not begin with a letter.
    BadScheme,
    /// HTTP/2 or later, and `Host` differs from the authority of the target.
    HostMismatch,
    /// A `Content-Length` that is not a decimal number of at most 64 bits.
    BadContentLength,
    /// More than one `Content-Length`, or a list in one, even if the values are equal.
    SeveralContentLengths,
    /// Both `Content-Length` and `Transfer-Encoding`, which allows request smuggling.
    LengthAndEncoding,
    /// `Transfer-Encoding` in a version that does not have it: HTTP/1.0 or HTTP/2 and later.
    MisplacedEncoding,
    /// `Transfer-Encoding` does not end in `chunked`, so the end of the body is unknown.
    UnframedBody,
    /// A transfer coding other than `chunked`. No server here decodes it, so a handler would get the encoded bytes.
    UnknownCoding,
    /// HTTP/2 or later with a connection header, such as `Connection` or `Keep-Alive`.
    ConnectionHeader,
    /// HTTP/2 or later with a header value that begins or ends with a blank.
    PaddedValue,
}

impl Refusal {
    /// The status to answer with.
    pub fn status(self) -> StatusCode {
        match self {
            Self::UnknownCoding => StatusCode::NOT_IMPLEMENTED,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// The reason in one sentence for the client. It quotes nothing that the client sent.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NoHost => "the request has no host, expected one `host` header",
            Self::SeveralHosts => "the request has several `host` headers, expected one",
            Self::BadHost => {
                "the `host` header is malformed, expected a host with a port from 0 to 65535 or without one"
            }
            Self::BadAuthority => {
                "the authority of the request target is malformed, expected a host with a port from 0 to 65535 or without one"
            }
            Self::BadScheme => "the scheme of the request target is malformed, expected one such as `http`",
            Self::HostMismatch => "the `host` header differs from the authority of the request target",
            Self::BadContentLength => "the `content-length` header is malformed, expected a decimal number of bytes",
            Self::SeveralContentLengths => "the request has several `content-length` headers, expected one at most",
            Self::LengthAndEncoding => "the request has both `content-length` and `transfer-encoding`",
            Self::MisplacedEncoding => "the request has `transfer-encoding`, which its HTTP version does not have",
            Self::UnframedBody => "the `transfer-encoding` header does not end in `chunked`",
            Self::UnknownCoding => "the request has a transfer coding other than `chunked`",
            Self::PaddedValue => "a header value begins or ends with a blank, which HTTP/2 and later do not allow",
            Self::ConnectionHeader => "the request has a header of the connection, which HTTP/2 and later do not have",
        }
    }
}

/// Checks the head of a request as the server received it.
///
/// Of the target it checks the authority only. A [`Uri`](http::Uri) cannot contain control characters, spaces or bytes
/// that are not UTF-8; an adapter whose framework has its own type answers 400 if the conversion fails.
/// [`resolve`](super::Table::resolve) checks the escapes of the path.
///
/// # Errors
///
/// The first reason found. The request must not reach a handler, and the connection should be closed after the answer,
/// since the end of the request may be unknown.
pub fn check(head: &Parts) -> Result<(), Refusal> {
    check_host(head)?;
    check_framing(head)
}

/// Puts the authority of the target in the place of `Host`, so that a handler sees one host only (RFC 9112, section
/// 3.2.2). The head has passed [`check`].
pub(crate) fn settle_host(head: &mut Parts) {
    let Some(authority) = head.uri.authority() else { return };
    if head.headers.get(HOST).is_some_and(|host| host == authority.as_str()) {
        return;
    }
    if let Ok(host) = HeaderValue::from_str(authority.as_str()) {
        head.headers.insert(HOST, host);
    }
}

/// RFC 9112, section 3.2, and RFC 9113, section 8.3.1.
fn check_host(head: &Parts) -> Result<(), Refusal> {
    let mut hosts = head.headers.get_all(HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err(Refusal::SeveralHosts);
    }
    let authority = match head.uri.authority() {
        Some(text) => Some(authority(text.as_str()).ok_or(Refusal::BadAuthority)?),
        None => None,
    };
    let begins_with_a_letter = |scheme: &str| scheme.starts_with(|first: char| first.is_ascii_alphabetic());
    if !head.uri.scheme_str().is_none_or(begins_with_a_letter) {
        return Err(Refusal::BadScheme);
    }
    // RFC 9110, section 9.3.6.
    if head.method == Method::CONNECT && authority.is_some_and(|(_, port)| port.is_none()) {
        return Err(Refusal::BadAuthority);
    }
    let Some(host) = host else {
        let needed = head.version >= Version::HTTP_11 && (head.version == Version::HTTP_11 || authority.is_none());
        return if needed { Err(Refusal::NoHost) } else { Ok(()) };
    };
    let host = host.to_str().ok().and_then(self::authority).ok_or(Refusal::BadHost)?;
    match authority {
        Some(authority)
            if head.version >= Version::HTTP_2 && !same_authority(head.uri.scheme_str(), authority, host) =>
        {
            Err(Refusal::HostMismatch)
        }
        _ => Ok(()),
    }
}

/// The host and the port of an authority; `None` if it is malformed (RFC 3986, section 3.2). An empty host is: the
/// schemes `http` and `https` have none (RFC 9110, section 4.2). So are the name and the password of a user (section
/// 4.2.4). It makes no allocation, since every request comes here.
fn authority(text: &str) -> Option<(&str, Option<u16>)> {
    let (host, rest) = if let Some(literal) = text.strip_prefix('[') {
        let (address, rest) = literal.split_once(']')?;
        address.parse::<Ipv6Addr>().ok()?;
        (&text[..address.len() + 2], rest)
    } else {
        let (host, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
        is_registered_name(host.as_bytes()).then_some((host, rest))?
    };
    let port = match rest.strip_prefix(':') {
        None => rest.is_empty().then_some(None)?,
        Some("") => None,
        Some(digits) => Some(is_decimal::<u16>(digits).then(|| digits.parse().ok())??),
    };
    Some((host, port))
}

/// Whether it is a name or an IPv4 address. Escapes are refused: the type of the target has none in a host.
fn is_registered_name(name: &[u8]) -> bool {
    let fits = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(byte);
    !name.is_empty() && name.iter().all(fits)
}

/// Whether the text is a number of this type. `parse` alone would accept a sign.
fn is_decimal<N: FromStr>(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<N>().is_ok()
}

fn same_authority(scheme: Option<&str>, one: (&str, Option<u16>), other: (&str, Option<u16>)) -> bool {
    let default = match scheme {
        Some("http") => Some(80),
        Some("https") => Some(443),
        _ => None,
    };
    one.0.eq_ignore_ascii_case(other.0) && one.1.or(default) == other.1.or(default)
}

/// RFC 9112, section 6, and RFC 9113, section 8.2.
fn check_framing(head: &Parts) -> Result<(), Refusal> {
    let has_encoding = head.headers.contains_key(TRANSFER_ENCODING);
    let mut lengths = head.headers.get_all(CONTENT_LENGTH).iter();
    if let Some(first) = lengths.next() {
        if lengths.next().is_some() {
            return Err(Refusal::SeveralContentLengths);
        }
        check_length(first)?;
        if has_encoding {
            return Err(Refusal::LengthAndEncoding);
        }
    }
    if head.version >= Version::HTTP_2 {
        const CONNECTION: [HeaderName; 4] = [
            http::header::CONNECTION,
            HeaderName::from_static("keep-alive"),
            HeaderName::from_static("proxy-connection"),
            http::header::UPGRADE,
        ];
        if CONNECTION.iter().any(|name| head.headers.contains_key(name)) {
            return Err(Refusal::ConnectionHeader);
        }
        let is_padded = |value: &HeaderValue| matches!(value.as_bytes(), [b' ' | b'\t', ..] | [.., b' ' | b'\t']);
        if head.headers.values().any(is_padded) {
            return Err(Refusal::PaddedValue);
        }
    }
    if !has_encoding {
        return Ok(());
    }
    if head.version != Version::HTTP_11 {
        return Err(Refusal::MisplacedEncoding);
    }
    check_codings(head)
}

fn check_length(value: &HeaderValue) -> Result<(), Refusal> {
    let text = value.to_str().map_err(|_| Refusal::BadContentLength)?;
    if text.contains(',') {
        return Err(Refusal::SeveralContentLengths);
    }
    if is_decimal::<u64>(text) {
        Ok(())
    } else {
        Err(Refusal::BadContentLength)
    }
}

fn check_codings(head: &Parts) -> Result<(), Refusal> {
    let mut last_is_chunked = false;
    let mut others = false;
    for value in head.headers.get_all(TRANSFER_ENCODING) {
        let text = value.to_str().map_err(|_| Refusal::UnframedBody)?;
        for coding in text.split(',').map(|coding| coding.trim_matches([' ', '\t'])) {
            others |= last_is_chunked || !coding.eq_ignore_ascii_case("chunked");
            last_is_chunked = coding.eq_ignore_ascii_case("chunked");
        }
    }
    match (last_is_chunked, others) {
        (false, _) => Err(Refusal::UnframedBody),
        (true, true) => Err(Refusal::UnknownCoding),
        (true, false) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
