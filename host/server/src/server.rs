//! What the connections of one server share.

use std::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use hyper::service::Service;
use pointwork_core::ServerOptions;

use crate::arriving::BoxError;

pub(crate) struct Server<S> {
    pub(crate) adapter: &'static str,
    pub(crate) options: ServerOptions,
    pub(crate) service: S,
    pub(crate) report: Box<dyn Fn(String) + Send + Sync>,
}

/// A service that answers every request: what [`serve`](crate::serve) takes.
///
/// Any [`hyper::service::Service`] is one that never fails, and whose replies have a body of [`Bytes`].
pub trait Answer:
    Service<Request<Incoming>, Response = Response<Self::ResBody>, Error = Infallible, Future: Send> + Send + Sync + 'static
{
    /// The body of a reply.
    type ResBody: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static;
}

impl<S, B> Answer for S
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send> + Send + Sync + 'static,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type ResBody = B;
}
