//! HTTP/2 in clear text.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, ready};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body as HttpBody;
use http_body_util::{BodyExt as _, Either, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use pointwork_core::ServerOptions;

use crate::arriving::BoxError;
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
    let respond = service_fn(|request| respond(server.clone(), request, Stream::open(link.clone())));
    let mut connection = pin!(builder(&server.options).serve_connection(TokioIo::new(io), respond));
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
                Alarm::HeadLate | Alarm::WriteLate => return Poll::Ready(None),
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

async fn respond<S: Answer>(
    server: Arc<Server<S>>,
    request: Request<Incoming>,
    stream: Stream,
) -> Result<Response<impl HttpBody<Data = Bytes, Error = BoxError>>, Infallible> {
    // HTTP/1 has this limit in its parser.
    if request.headers().len() > server.options.max_headers {
        let mut reply = Response::new(Either::Right(Empty::new()));
        *reply.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Ok(reply);
    }
    let reply = server.service.call(request).await?;
    // It holds the stream until hyper drops the body.
    let held = move |error| {
        let _stream = &stream;
        error
    };
    Ok(reply.map(|body| Either::Left(body.map_err(held))))
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
