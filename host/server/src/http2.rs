//! HTTP/2 in clear text.

use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{Either, Empty};
use hyper::body::Incoming;
use hyper::rt::{Sleep, Timer};
use hyper::server::conn::http2::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pointwork_core::{Failure, FailureCode, ServerOptions, Timers};

use crate::driver::Driver;
use crate::io::Io;
use crate::serve::{InfallibleService, Server};
use crate::state::OpenStream;
use crate::unread::{PacedReply, StreamExecutor};

fn builder(options: &ServerOptions, timers: Timers, executor: StreamExecutor) -> Builder<StreamExecutor> {
    let mut builder = Builder::new(executor);
    builder
        .timer(PingTimer(timers))
        .max_header_list_size(options.max_header_bytes)
        .max_concurrent_streams(options.http2.max_streams)
        .max_pending_accept_reset_streams(options.http2.max_pending_resets)
        .max_local_error_reset_streams(options.http2.max_faulty_streams)
        .keep_alive_interval(options.http2.ping_interval)
        .keep_alive_timeout(options.http2.ping_timeout);
    builder
}

pub(crate) async fn serve<S: InfallibleService>(server: Arc<Server<S>>, io: Io, mut driver: Driver) {
    let state = driver.state.clone();
    let write_timeout = server.options.write_timeout;
    let respond = service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(state.peer);
        let deadline = state.unread.begin();
        // HTTP/1 has this limit in its parser.
        let fits = request.headers().len() <= server.options.max_headers;
        let (server, state) = (server.clone(), state.clone());
        async move {
            if !fits {
                return Ok::<_, Infallible>(refusal(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE));
            }
            if !state.unread.admit(head_length(&request)).await {
                let failure = Failure::of(FailureCode::OVERLOADED, "the server is busy");
                let mut refusal = refusal(failure.status());
                refusal.headers_mut().clone_from(failure.headers());
                return Ok(refusal);
            }
            let stream = OpenStream::new(state.clone());
            let (head, body) = server.service.call(request).await?.into_parts();
            // The body holds the stream until hyper drops it.
            let body = PacedReply::new(body, &state.unread, deadline, write_timeout, stream);
            Ok(Response::from_parts(head, Either::Left(body)))
        }
    });
    let executor = StreamExecutor(driver.state.unread.clone());
    let connection =
        pin!(builder(&server.options, state.timers.clone(), executor).serve_connection(TokioIo::new(io), respond));
    if let Some(Err(error)) = driver.drive(connection, true).await {
        tracing::debug!("a connection ended: {error}");
    }
}

/// hyper's timer for pings.
struct PingTimer(Timers);

struct PingSleep(pointwork_core::Sleep);

impl Timer for PingTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        Box::pin(PingSleep(self.0.sleep(duration)))
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        Box::pin(PingSleep(self.0.sleep_until(deadline)))
    }

    fn now(&self) -> Instant {
        self.0.now()
    }
}

impl Sleep for PingSleep {}

impl Future for PingSleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

fn refusal<B>(status: StatusCode) -> Response<Either<B, Empty<Bytes>>> {
    let mut refusal = Response::new(Either::Right(Empty::new()));
    *refusal.status_mut() = status;
    refusal
}

/// The bytes of the target and the headers.
fn head_length<B>(request: &Request<B>) -> usize {
    let headers = request.headers().iter();
    let headers: usize = headers.map(|(name, value)| name.as_str().len() + value.len()).sum();
    request.uri().path().len() + request.uri().query().map_or(0, str::len) + headers
}
