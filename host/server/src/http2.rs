//! HTTP/2 in clear text.

use std::convert::Infallible;
use std::pin::pin;

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Either, Empty};
use hyper::body::Incoming;
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use pointwork_core::ServerOptions;

use crate::driver::Driver;
use crate::io::Io;
use crate::service::{InfallibleService, Server};
use crate::state::OpenStream;

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

pub(crate) async fn serve<S: InfallibleService>(server: &Server<S>, io: Io, mut driver: Driver) {
    let state = driver.state.clone();
    let respond = service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(state.peer);
        let stream = OpenStream::new(state.clone());
        // HTTP/1 has this limit in its parser.
        let fits = request.headers().len() <= server.options.max_headers;
        let reply = fits.then(|| server.service.call(request));
        async move {
            let Some(reply) = reply else {
                let mut refusal = Response::new(Either::Right(Empty::new()));
                *refusal.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
                return Ok::<_, Infallible>(refusal);
            };
            // The body holds the stream until hyper drops it.
            let held = move |error| {
                let _stream = &stream;
                error
            };
            Ok(reply.await?.map(|body| Either::Left(body.map_err(held))))
        }
    });
    let connection = pin!(builder(&server.options).serve_connection(TokioIo::new(io), respond));
    if let Some(Err(error)) = driver.drive(connection, true).await {
        tracing::debug!("a connection ended: {error}");
    }
}
