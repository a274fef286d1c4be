//! Requests: from actix-web's types, which are of an older `http`, to the core's.

use std::sync::Arc;

use actix_web::HttpMessage;
use actix_web::dev::ServiceRequest;
use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri, Version, header};
use pointwork_core::Extensions;

use crate::head::Arrival;
use crate::link::Link;

/// The head of a request: as our own server read it, or else as actix-web has it.
///
/// # Errors
/// The status to refuse it with.
pub(crate) fn head(request: &mut ServiceRequest, link: Option<&Arc<Link>>) -> Result<Parts, StatusCode> {
    let mut parts = match link.and_then(|link| link.take_arrival()) {
        Some(Arrival::Request(arrived)) => {
            let method = arrived.parts.method.as_str();
            // It may have come under another name, see `Head::stand_in`.
            if request.method().as_str() != method
                && let Ok(method) = actix_web::http::Method::from_bytes(method.as_bytes())
            {
                request.head_mut().method = method;
            }
            arrived.parts
        }
        Some(Arrival::Refused(status)) => return Err(status),
        None => convert(request).ok_or(StatusCode::BAD_REQUEST)?,
    };
    if let Some(extensions) = request.extensions().get::<Extensions>() {
        parts.extensions.insert(extensions.clone());
    }
    Ok(parts)
}

/// `None` if the newer types do not take what the older ones took.
fn convert(request: &ServiceRequest) -> Option<Parts> {
    let head = request.head();
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.method = Method::from_bytes(head.method.as_str().as_bytes()).ok()?;
    parts.uri = target(&head.uri)?;
    parts.version = version(head.version);
    parts.headers.reserve(head.headers.len());
    for (name, value) in &head.headers {
        let name = HeaderName::from_bytes(name.as_str().as_bytes()).ok()?;
        parts
            .headers
            .append(name, HeaderValue::from_bytes(value.as_bytes()).ok()?);
    }
    Some(parts)
}

fn target(uri: &actix_web::http::Uri) -> Option<Uri> {
    let bytes = match (uri.scheme(), uri.authority(), uri.path_and_query()) {
        (None, None, Some(path)) => Bytes::copy_from_slice(path.as_str().as_bytes()),
        _ => Bytes::from(uri.to_string()),
    };
    Uri::from_maybe_shared(bytes).ok()
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

/// How long the body is, if the head says so.
pub(crate) fn length(head: &Parts) -> Option<u64> {
    let length = head.headers.get(header::CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
