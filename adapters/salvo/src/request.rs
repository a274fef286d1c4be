//! Requests, from salvo's kind to the core's.

use std::io;

use http::uri::Scheme;
use http_body_util::{BodyExt as _, LengthLimitError};
use pointwork_core::adapter::{AdapterState, Place};
use pointwork_core::{Body, BodyError, Extensions, FoundRoute, Peer};
use pointwork_server::{BoxError, request_body};
use salvo_core::conn::SocketAddr;
use salvo_core::{Depot, Request};

/// Marks a request of the adapter's own server: no middleware sees it, before or after.
#[derive(Clone, Copy)]
pub(crate) struct Unobserved;

/// The request as the client sent it, with the [`Extensions`] of a middleware.
///
/// A middleware that stands around the handler keeps all but the body.
pub(crate) async fn take(req: &mut Request, depot: &Depot) -> http::Request<Body> {
    let mut request = http::Request::new(take_body(req).await);
    *request.method_mut() = req.method().clone();
    *request.uri_mut() = req.uri().clone();
    *request.version_mut() = req.version();
    if req.extensions().get::<Unobserved>().is_some() {
        *request.headers_mut() = std::mem::take(req.headers_mut());
        *request.extensions_mut() = std::mem::take(req.extensions_mut());
        return request;
    }
    let peer = req.extensions().get().copied().unwrap_or_else(|| peer(req));
    request.extensions_mut().insert(peer);
    *request.headers_mut() = req.headers().clone();
    let extensions = req.extensions().get::<Extensions>();
    if let Some(extensions) = extensions.or_else(|| depot.get_typed().ok()) {
        request.extensions_mut().insert(extensions.clone());
    }
    request
}

/// Whether the request, which stays as it is, is the adapter's in front of its user's routers.
pub(crate) fn accept(state: &AdapterState, req: &mut Request) -> Option<Option<FoundRoute>> {
    let (mut head, ()) = http::Request::new(()).into_parts();
    head.method = req.method().clone();
    head.uri = req.uri().clone();
    head.version = req.version();
    head.headers = std::mem::take(req.headers_mut());
    let found = state.accept(Place::InFront, head.uri.path(), Some(&head));
    *req.headers_mut() = head.headers;
    found
}

/// The other end of the connection, as salvo knows it.
fn peer(req: &Request) -> Peer {
    let address = match req.remote_addr() {
        SocketAddr::IPv4(address) => Some((*address).into()),
        SocketAddr::IPv6(address) => Some((*address).into()),
        _ => None,
    };
    Peer::new(address, *req.scheme() == Scheme::HTTPS)
}

async fn take_body(req: &mut Request) -> Body {
    if req.body().is_none() {
        // A middleware has read it, and salvo may have kept it.
        return req
            .payload()
            .await
            .map(|read| Body::from(read.clone()))
            .unwrap_or_default();
    }
    // The limit of `Request::limit_body`, if it was called.
    let limit = req.secure_max_size();
    request_body(req.take_body().map_err(move |error| body_error(error, limit)))
}

/// The error with the limit, where it is salvo's for a body that is too long.
fn body_error(error: io::Error, limit: usize) -> BoxError {
    let mut cause = error.get_ref();
    // salvo puts one `io::Error` into another.
    while let Some(inner) = cause.and_then(|cause| cause.downcast_ref::<io::Error>()) {
        cause = inner.get_ref();
    }
    if cause.is_some_and(|cause| cause.is::<LengthLimitError>()) {
        let limit = u64::try_from(limit).ok();
        return BodyError::TooLarge { limit }.into();
    }
    error.into()
}
