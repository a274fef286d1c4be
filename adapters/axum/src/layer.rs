//! The adapter as a tower layer, in front of a service of the application.

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::{Bytes, HttpBody};
use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use axum::{BoxError, Router};
use futures_util::future::{Either, Map, MapOk};
use futures_util::{FutureExt as _, TryFutureExt as _};
use pointwork_core::adapter::AdapterState;
use tower::{Layer, Service};

use crate::table;

/// The adapter as a [`Layer`] in front of a service of the user's (spec A9): [`Axum::in_front`](crate::Axum::in_front)
/// returns it.
#[derive(Clone, Debug)]
pub struct AxumLayer(pub(crate) Arc<AdapterState<Router>>);

impl<S> Layer<S> for AxumLayer {
    type Service = Mounted<S>;

    fn layer(&self, inner: S) -> Mounted<S> {
        let state = self.0.clone();
        Mounted { state, inner }
    }
}

/// A service of the user's with the adapter in front of it: the service of an [`AxumLayer`].
///
/// It is ready when the user's service is.
#[derive(Clone, Debug)]
pub struct Mounted<S> {
    state: Arc<AdapterState<Router>>,
    inner: S,
}

type Ours<E> = Map<<Router as Service<Request>>::Future, fn(Result<Response, Infallible>) -> Result<Response, E>>;

impl<S, B> Service<http::Request<B>> for Mounted<S>
where
    S: Service<http::Request<B>, Response: IntoResponse>,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response;
    type Error = S::Error;
    /// Dropping it cancels the handler.
    type Future = Either<Ours<S::Error>, MapOk<S::Future, fn(S::Response) -> Response>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let (mut head, body) = request.into_parts();
        if let Some(published) = self.state.load()
            && let Some(found) = published.router.find_route(&head)
        {
            head.extensions.insert(found);
            let request = Request::from_parts(head, axum::body::Body::new(body));
            let ours: fn(Result<Response, Infallible>) -> Result<Response, S::Error> = |Ok(reply)| Ok(reply);
            return Either::Left(table::call(&published.table, request).map(ours));
        }
        let theirs: fn(S::Response) -> Response = S::Response::into_response;
        Either::Right(self.inner.call(http::Request::from_parts(head, body)).map_ok(theirs))
    }
}
