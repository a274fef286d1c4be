//! The adapter as a tower layer, in front of a service of its user's or beside it.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::{Either, MapOk};
use futures_util::{FutureExt as _, TryFutureExt as _};
use http::{Request, Response};
use http_body::Body as HttpBody;
use http_body_util::Either as EitherBody;
use pointwork_core::adapter::{AdapterState, Place};
use pointwork_core::{Body, BoxFuture};
use pointwork_server::{BoxError, request_body};
use tower_layer::Layer;
use tower_service::Service;

/// The adapter as a [`tower_layer::Layer`] around a service of the user's (spec A9): [`Hyper::in_front`](crate::Hyper::in_front)
/// and [`Hyper::below`](crate::Hyper::below) return it.
#[derive(Clone, Debug)]
pub struct HyperLayer {
    pub(crate) state: Arc<AdapterState>,
    pub(crate) place: Place,
}

impl<S> Layer<S> for HyperLayer {
    type Service = Mounted<S>;

    fn layer(&self, inner: S) -> Mounted<S> {
        let layer = self.clone();
        Mounted { layer, inner }
    }
}

/// A service of the user's with the adapter before it: the service of a [`HyperLayer`].
///
/// It is ready when the user's service is. The body of a reply is either the adapter's or that of the user's service.
#[derive(Clone, Debug)]
pub struct Mounted<S> {
    layer: HyperLayer,
    inner: S,
}

type Reply<B> = Response<EitherBody<Body, B>>;

impl<S, B, R> Service<Request<B>> for Mounted<S>
where
    S: Service<Request<B>, Response = Response<R>>,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Reply<R>;
    type Error = S::Error;
    /// Dropping it cancels the handler.
    type Future = Either<BoxFuture<'static, Result<Reply<R>, S::Error>>, MapOk<S::Future, fn(Response<R>) -> Reply<R>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let HyperLayer { state, place } = &self.layer;
        let (head, body) = request.into_parts();
        if let Some(found) = state.accept(*place, head.uri.path(), Some(&head)) {
            let reply = state.respond(found, Request::from_parts(head, request_body(body)));
            return Either::Left(Box::pin(reply.map(|reply| Ok(reply.map(EitherBody::Left)))));
        }
        let theirs: fn(Response<R>) -> Reply<R> = |reply| reply.map(EitherBody::Right);
        Either::Right(self.inner.call(Request::from_parts(head, body)).map_ok(theirs))
    }
}
