//! Requests, from salvo's kind to the core's.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::LengthLimitError;
use pointwork_core::{Body, BodyError, Extensions};
use pointwork_server::{BoxError, arriving};
use salvo_core::http::ReqBody;
use salvo_core::{Depot, Request};

/// Marks a request that the adapter's own server took in: no middleware looks at it, before or after.
#[derive(Clone, Copy)]
pub(crate) struct Alone;

impl Alone {
    pub(crate) fn is(req: &Request) -> bool {
        req.extensions().get::<Self>().is_some()
    }
}

/// The request as the client sent it, with the [`Extensions`] of a middleware.
///
/// A middleware that stands around the handler keeps all but the body.
pub(crate) async fn take(req: &mut Request, depot: &Depot) -> http::Request<Body> {
    let mut request = http::Request::new(take_body(req).await);
    *request.method_mut() = req.method().clone();
    *request.uri_mut() = req.uri().clone();
    *request.version_mut() = req.version();
    if Alone::is(req) {
        *request.headers_mut() = std::mem::take(req.headers_mut());
        return request;
    }
    *request.headers_mut() = req.headers().clone();
    let extensions = req.extensions().get::<Extensions>();
    if let Some(extensions) = extensions.or_else(|| depot.get_typed().ok()) {
        request.extensions_mut().insert(extensions.clone());
    }
    request
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
    let limit = req.secure_max_size();
    arriving(Peeled {
        body: req.take_body(),
        limit,
    })
}

/// salvo's body, with errors as they were before salvo put each into an [`io::Error`], whose `source` leaves out the very
/// error that it holds.
struct Peeled {
    body: ReqBody,
    /// What [`Request::limit_body`] lets through, if it was called.
    limit: usize,
}

impl Peeled {
    fn peel(&self, error: io::Error) -> BoxError {
        let mut error: BoxError = error.into();
        loop {
            match error.downcast::<io::Error>() {
                Ok(outer) if outer.kind() != io::ErrorKind::Other => return outer,
                Ok(outer) => match outer.into_inner() {
                    Some(inner) => error = inner,
                    None => return io::Error::from(io::ErrorKind::Other).into(),
                },
                Err(inner) if inner.is::<LengthLimitError>() => {
                    let limit = u64::try_from(self.limit).unwrap_or(u64::MAX);
                    return BodyError::TooLarge { limit }.into();
                }
                Err(inner) => return inner,
            }
        }
    }
}

impl HttpBody for Peeled {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        frame.map(|frame| frame.map(|frame| frame.map_err(|error| self.peel(error))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
