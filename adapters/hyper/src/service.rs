//! The adapter as a service, for servers that already exist.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Request, Response};
use http_body::Body as HttpBody;
use pointwork_core::adapter::AdapterState;
use pointwork_core::{Body, BoxFuture};
use pointwork_server::{BoxError, request_body};

/// The adapter as a [`tower_service::Service`] and a [`hyper::service::Service`] (spec A9).
///
/// [`Hyper::service`](crate::Hyper::service) returns it. It takes requests with any body of [`Bytes`] and never fails: an
/// error is a reply. It is always ready, cheap to clone, and sees later routes as they are published.
///
/// The request must be as the client sent it. A router around it that takes a prefix off the path changes what the routes
/// match; one that keeps it, while the application has a global prefix too, makes the path double (spec G6). Call it
/// within a tokio runtime with time enabled. Of the [options](pointwork_core::ServerOptions) only the body timeout applies
/// here: the others belong to the server around it.
///
/// ```
/// use std::convert::Infallible;
/// use http::{HeaderValue, Response};
/// use pointwork_core::Body;
/// use pointwork_hyper::Hyper;
/// use tower::ServiceExt;
/// use tower::util::MapResponse;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Infallible> {
/// let hyper = Hyper::new();
/// // Any tower layer will do in place of the one closure.
/// let service = MapResponse::new(hyper.service(), |mut reply: Response<Body>| {
///     reply.headers_mut().insert("x-served-by", HeaderValue::from_static("me"));
///     reply
/// });
/// let reply = service.oneshot(http::Request::new(Body::empty())).await?;
/// assert_eq!(reply.status(), 503, "nothing is published yet");
/// assert_eq!(reply.headers()["x-served-by"], "me");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct HyperService(pub(crate) Arc<AdapterState>);

impl<B> tower_service::Service<Request<B>> for HyperService
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    /// Dropping it cancels the handler.
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        hyper::service::Service::call(&*self, request)
    }
}

impl<B> hyper::service::Service<Request<B>> for HyperService
where
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    /// Dropping it cancels the handler.
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn call(&self, request: Request<B>) -> Self::Future {
        Box::pin(self.0.respond(None, request.map(request_body)).map(Ok))
    }
}
