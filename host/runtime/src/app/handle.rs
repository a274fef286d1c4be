//! Answers requests without an adapter.

use std::any::Any;
use std::convert::Infallible;
use std::error::Error as StdError;
use std::future::Future;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body as HttpBody;
use http_body_util::{BodyExt as _, LengthLimitError};
use pointwork_core::{Body, BodyError, BoxFuture};
use tower_service::Service;

use super::App;

type BoxError = Box<dyn StdError + Send + Sync>;

impl App {
    /// Answers one request in process, without any adapter: by the routes of this moment, with the guard and the sanitiser
    /// that every adapter's requests meet. An HTTP/1 request needs a `Host`. The body is a [`Body`] or any
    /// [`http_body::Body`] of [`Bytes`].
    ///
    /// The application counts as no adapter: a module that was loaded before one is connected keeps the origin `decorator`
    /// (spec M4), and an application without routes logs no error (spec E3). The future runs on any executor.
    ///
    /// ```
    /// use pointwork::{App, Body, Context};
    /// use pointwork::http::{Request, StatusCode};
    ///
    /// # async fn handle() -> Result<(), Box<dyn std::error::Error>> {
    /// let app = App::new()?;
    /// app.get("/hello", |_: Context| async { "Hello" })?;
    /// let request = Request::get("/hello").header("host", "localhost").body(Body::empty())?;
    /// let reply = app.handle(request).await;
    /// assert_eq!(reply.status(), StatusCode::OK);
    /// # Ok(())
    /// # }
    /// # futures_executor::block_on(handle()).unwrap();
    /// ```
    ///
    /// It never fails: whatever goes wrong is a reply. After [`close`](Self::close) that is 503.
    ///
    /// # Cancel safety
    /// Dropping the future means that the client went away: the handler is cancelled.
    pub fn handle<B>(&self, request: Request<B>) -> impl Future<Output = Response<Body>> + Send + 'static + use<B>
    where
        B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        self.0.routers.in_process.respond(None, request.map(body))
    }
}

/// Answers as [`App::handle`] does.
impl<B> Service<Request<B>> for App
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
        let reply = self.handle(request);
        Box::pin(async move { Ok(reply.await) })
    }
}

fn body<B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static>(body: B) -> Body {
    let mut body = Some(body);
    if let Some(own) = (&mut body as &mut dyn Any).downcast_mut::<Option<Body>>() {
        return own.take().unwrap_or_default();
    }
    let other = body.filter(|body| !body.is_end_stream());
    let error = |error: B::Error| match error.into().downcast::<BodyError>() {
        Ok(known) => *known,
        Err(other) if other.is::<LengthLimitError>() => BodyError::TooLarge { limit: None },
        Err(other) => BodyError::Transport(other),
    };
    other.map_or_else(Body::empty, |body| Body::stream(body.map_err(error)))
}
