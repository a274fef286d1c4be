//! The handler of a route.

use std::future::Future;
use std::time::Duration;

use super::context::Context;
use super::reply::{IntoReply, Outcome};
use crate::BoxFuture;

/// The future of one call of a handler.
pub type HandlerFuture = BoxFuture<'static, Outcome>;

/// Handles the requests of one route (spec H1). Any `Fn(Context) -> impl Future` whose output is a reply is one.
pub trait Handler: Send + Sync + 'static {
    /// Handles one request. The future is dropped when the client goes away or the deadline passes.
    fn call(&self, context: Context) -> HandlerFuture;

    /// The limits of its requests; read once for each table.
    fn limits(&self) -> RequestLimits {
        RequestLimits::default()
    }
}

impl<F, Fut> Handler for F
where
    F: Fn(Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: IntoReply> + Send + 'static,
{
    fn call(&self, context: Context) -> HandlerFuture {
        let value = self(context);
        Box::pin(async move { value.await.into_reply() })
    }
}

/// How a handler takes the request's body (spec H9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BodyMode {
    /// Not at all: the handler runs at once, and reading the body fails with [`GONE`](crate::FailureCode::GONE).
    None,
    /// Whole: the handler runs when the body has arrived, and reads it from memory. A request without a body waits for
    /// nothing.
    Whole,
    /// Chunk by chunk: the handler runs at once.
    #[default]
    Stream,
}

/// How one route takes its requests. Each limit counts only where it is narrower than the limit of every request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestLimits {
    /// How the handler takes the body.
    pub body_mode: BodyMode,
    /// The time until a reply begins; 504 past it.
    pub deadline: Option<Duration>,
    /// The longest request body that is held in memory, in bytes; 413 past it.
    pub body: Option<u64>,
    /// The longest request body that is read chunk by chunk, in bytes; 413 past it.
    pub stream_body: Option<u64>,
    /// The size of all header names and values together, in bytes; 431 past it.
    pub headers: Option<usize>,
}
