//! HTTP/1.0 and HTTP/1.1.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::TryFutureExt as _;
use http::header::CONNECTION;
use http::{Request, Version};
use hyper::body::Incoming;
use hyper::rt::{Sleep, Timer};
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pointwork_core::ServerOptions;

use crate::driver::Driver;
use crate::io::Io;
use crate::left::WatchedReply;
use crate::serve::{InfallibleService, Server};
use crate::state::ConnectionState;

/// hyper takes no smaller one.
const MIN_BUFFER: usize = 8192;

fn builder(options: &ServerOptions, state: &Arc<ConnectionState>) -> Builder {
    let max_head = usize::try_from(options.max_header_bytes).unwrap_or(usize::MAX);
    let mut builder = Builder::new();
    builder
        .keep_alive(options.keep_alive)
        .max_header_size(max_head)
        .max_buf_size(max_head.max(MIN_BUFFER))
        .timer(HeadTimer(state.clone()))
        .header_read_timeout(options.header_timeout);
    if options.max_headers != ServerOptions::DEFAULT_MAX_HEADERS {
        builder.max_headers(options.max_headers);
    }
    // `pipeline_flush` stays off. With it, a reply waits while any byte of a later request is in the buffer, and replies to
    // a client that never reads pile up without bound.
    builder
}

pub(crate) async fn serve<S: InfallibleService>(server: &Server<S>, io: Io, mut driver: Driver) {
    let builder = builder(&server.options, &driver.state);
    // In HTTP/1.0 the end of the connection may be the end of a reply.
    let saw_http_10 = AtomicBool::new(false);
    let state = driver.state.clone();
    let respond = service_fn(|mut request: Request<Incoming>| {
        state.request_begins();
        request.extensions_mut().insert(state.peer);
        let http_10 = request.version() == Version::HTTP_10;
        if http_10 {
            saw_http_10.store(true, Relaxed);
        }
        let state = state.clone();
        server.service.call(request).map_ok(move |reply| {
            let mut reply = reply.map(|body| WatchedReply::new(body, &state));
            // hyper would add `keep-alive` to the reply's own `Connection` if it took the reply for one of HTTP/1.1.
            if http_10 && reply.headers().contains_key(CONNECTION) {
                *reply.version_mut() = Version::HTTP_10;
            }
            reply
        })
    });
    let mut connection = builder.serve_connection(TokioIo::new(io), respond);
    let Some(result) = driver.drive(Pin::new(&mut connection), false).await else {
        return;
    };
    let io = connection.into_parts().io.into_inner();
    match result {
        // No reply was under way that a reset could destroy, and the shutdown need not wait for the client.
        Ok(()) if driver.drained_idle => {}
        Ok(()) => io.linger().await,
        Err(error) => {
            tracing::debug!("a connection ended: {error}");
            if error.is_parse() {
                io.linger().await;
            } else if error.is_user() && saw_http_10.load(Relaxed) {
                // The end of the connection alone would look like the end of the reply.
                io.reset();
            }
        }
    }
}

/// hyper's timer for heads, at the cost of one small allocation each. hyper starts a sleep when it begins to wait for a head,
/// and drops it when the head is complete. Both only set the deadline in the [`ConnectionState`], past which the connection is
/// cut.
struct HeadTimer(Arc<ConnectionState>);

struct HeadSleep(Arc<ConnectionState>);

impl Timer for HeadTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        self.0.deadlines.await_head_by(deadline);
        Box::pin(HeadSleep(self.0.clone()))
    }

    fn now(&self) -> Instant {
        self.0.timers.now()
    }
}

impl Sleep for HeadSleep {}

impl Future for HeadSleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl Drop for HeadSleep {
    fn drop(&mut self) {
        self.0.deadlines.await_nothing();
    }
}
