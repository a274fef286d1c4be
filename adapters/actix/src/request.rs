//! Requests: from actix-web's types, which are of an older `http`, to the core's.

use actix_web::dev::RequestHead;
use actix_web::http::header::{TRANSFER_ENCODING, UPGRADE};
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri, Version, header};
use pointwork_core::ServerOptions;

/// The head of a request, checked against the limits of the options if they apply.
///
/// # Errors
/// The status to refuse it with.
pub(crate) fn convert(head: &RequestHead, limits: Option<&ServerOptions>) -> Result<Parts, StatusCode> {
    const BAD: StatusCode = StatusCode::BAD_REQUEST;
    let (mut parts, ()) = Request::new(()).into_parts();
    let (target, uri) = target(&head.uri).ok_or(BAD)?;
    parts.uri = uri;
    parts.method = Method::from_bytes(head.method.as_str().as_bytes()).map_err(|_| BAD)?;
    parts.version = version(head.version);
    let (mut lines, mut names, mut values) = (0, 0, 0);
    for (name, value) in &head.headers {
        lines += 1;
        names += name.as_str().len();
        values += value.len();
    }
    if let Some(limits) = limits {
        // Blanks, colons and the ends of lines as every client writes them: actix-http does not keep the bytes.
        let length = parts.method.as_str().len() + target + " HTTP/1.1\r\n\r\n".len() + 1 + names + values + 4 * lines;
        if lines > limits.max_headers || u32::try_from(length).map_or(true, |length| length > limits.max_header_bytes) {
            return Err(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        }
    }
    // One allocation that the values share.
    let mut text = Vec::with_capacity(values);
    for (_, value) in &head.headers {
        text.extend_from_slice(value.as_bytes());
    }
    let mut text = Bytes::from(text);
    parts.headers.reserve(lines);
    for (name, value) in &head.headers {
        let name = HeaderName::from_bytes(name.as_str().as_bytes()).map_err(|_| BAD)?;
        let value = HeaderValue::from_maybe_shared(text.split_to(value.len())).map_err(|_| BAD)?;
        parts.headers.append(name, value);
    }
    Ok(parts)
}

/// The length of a target, and the target in the newer types.
fn target(uri: &actix_web::http::Uri) -> Option<(usize, Uri)> {
    let bytes = match (uri.scheme(), uri.authority(), uri.path_and_query()) {
        (None, None, Some(path)) => Bytes::copy_from_slice(path.as_str().as_bytes()),
        _ => Bytes::from(uri.to_string()),
    };
    Some((bytes.len(), Uri::from_maybe_shared(bytes).ok()?))
}

fn version(version: actix_web::http::Version) -> Version {
    match version {
        actix_web::http::Version::HTTP_09 => Version::HTTP_09,
        actix_web::http::Version::HTTP_10 => Version::HTTP_10,
        actix_web::http::Version::HTTP_2 => Version::HTTP_2,
        actix_web::http::Version::HTTP_3 => Version::HTTP_3,
        _ => Version::HTTP_11,
    }
}

/// Whether actix-http may have given up HTTP on the connection: after a head with `Upgrade: websocket`, or of a CONNECT,
/// it takes everything up to the end of the connection for the body, whatever `Content-Length` says, and it writes a
/// reply without chunks even where it announced them.
pub(crate) fn is_tunnel(head: &RequestHead) -> bool {
    let may_be = head.method == actix_web::http::Method::CONNECT || head.headers.contains_key(UPGRADE);
    may_be && head.version <= actix_web::http::Version::HTTP_11 && !head.headers.contains_key(TRANSFER_ENCODING)
}

/// How long the body is, if the head says so.
pub(crate) fn length(head: &Parts) -> Option<u64> {
    let length = head.headers.get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_target_stays_as_it_is() {
        for text in ["/", "/?", "/a?b", "*", "http://h:1/a?b", "h:80"] {
            let (length, uri) = target(&text.parse().unwrap()).unwrap();
            assert_eq!((length, uri.to_string().as_str()), (text.len(), text));
        }
    }
}
