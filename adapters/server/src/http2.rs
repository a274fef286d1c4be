//! HTTP/2 in clear text.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use pointwork_core::ServerOptions;

use crate::io::Io;
use crate::link::Link;
use crate::server::{Answer, Server};
use crate::watch::{Alarm, Watch};

fn builder(options: &ServerOptions) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_header_list_size(options.max_header_bytes)
        .max_concurrent_streams(options.http2.max_streams)
        .max_pending_accept_reset_streams(options.http2.max_pending_resets)
        .max_local_error_reset_streams(options.http2.max_faulty_streams)
        .keep_alive_interval(options.http2.ping_interval)
        .keep_alive_timeout(options.http2.ping_timeout);
    builder
}

pub(crate) async fn serve<S: Answer>(server: Arc<Server<S>>, io: Io, mut watch: Watch) {
    let link = watch.link().clone();
    let respond = service_fn(|request| {
        let stream = Stream::open(link.clone());
        let server = server.clone();
        async move { Ok::<_, Infallible>(respond(&server, request).await.map(|body| Held { body, stream })) }
    });
    let mut connection = pin!(builder(&server.options).serve_connection(io, respond));
    let mut idle = false;
    let end = poll_fn(|cx| {
        loop {
            if let Poll::Ready(result) = connection.as_mut().poll(cx) {
                return Poll::Ready(Some(result));
            }
            match ready!(watch.poll(cx)) {
                Alarm::Drain => connection.as_mut().graceful_shutdown(),
                Alarm::HeadLate if link.has_streams() => link.await_nothing(),
                // First the client is asked to close, as HTTP/2 wants it. One that does not answer is cut.
                Alarm::HeadLate if !idle => {
                    idle = true;
                    connection.as_mut().graceful_shutdown();
                    link.await_head();
                }
                Alarm::HeadLate | Alarm::Cut | Alarm::WriteLate => return Poll::Ready(None),
            }
        }
    })
    .await;
    match end {
        Some(Ok(())) => {}
        Some(Err(error)) => tracing::debug!("a connection ended: {error}"),
        None => tracing::debug!("a connection was cut"),
    }
}

async fn respond<S: Answer>(server: &Server<S>, request: Request<Incoming>) -> Response<Option<S::ResBody>> {
    // HTTP/1 has this limit in its parser.
    if request.headers().len() > server.options.max_headers {
        let mut reply = Response::new(None);
        *reply.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return reply;
    }
    match server.service.call(request).await {
        Ok(reply) => reply.map(Some),
        Err(never) => match never {},
    }
}

/// A request in flight, its reply's body included: the connection is not idle.
struct Stream(Arc<Link>);

impl Stream {
    fn open(link: Arc<Link>) -> Self {
        link.stream_opened();
        Self(link)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.0.stream_closed();
    }
}

pin_project_lite::pin_project! {
    /// A reply's body, if it has one, that holds its [`Stream`].
    struct Held<B> {
        #[pin]
        body: Option<B>,
        stream: Stream,
    }
}

impl<B: HttpBody<Data = Bytes>> HttpBody for Held<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match self.project().body.as_pin_mut() {
            Some(body) => body.poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or(SizeHint::with_exact(0), HttpBody::size_hint)
    }
}
