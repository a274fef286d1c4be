//! The service of a server.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use hyper::service::Service;
use pointwork_core::ServerOptions;

use crate::body::BoxError;

/// The part of a server that its connections share.
pub(crate) struct Server<S> {
    pub(crate) options: ServerOptions,
    pub(crate) service: S,
}

/// A service that answers every request: the argument of [`serve`](crate::serve).
///
/// Every [`hyper::service::Service`] is one that never fails, and whose replies have a body of [`Bytes`].
pub trait InfallibleService:
    Service<Request<Incoming>, Response = Response<Self::ResBody>, Error = Infallible, Future: Send> + Send + Sync + 'static
{
    /// The body of a reply.
    type ResBody: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static;
}

impl<S, B> InfallibleService for S
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send> + Send + Sync + 'static,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type ResBody = B;
}
