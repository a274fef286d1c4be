//! HTTP/1.0 and HTTP/1.1.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Poll, ready};

use futures_util::TryFutureExt as _;
use http::header::CONNECTION;
use http::{Request, Version};
use hyper::body::Incoming;
use hyper::server::conn::http1::Builder;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use pointwork_core::ServerOptions;

use crate::connection::linger;
use crate::head_timer::HeadTimer;
use crate::io::Io;
use crate::link::Link;
use crate::server::{Answer, Server};
use crate::watch::{Alarm, Watch};

/// hyper takes no smaller one.
const MIN_BUFFER: usize = 8192;

fn builder(options: &ServerOptions, link: &Arc<Link>) -> Builder {
    let max_head = usize::try_from(options.max_header_bytes).unwrap_or(usize::MAX);
    let mut builder = Builder::new();
    builder
        .keep_alive(options.keep_alive)
        .max_header_size(max_head)
        .max_buf_size(max_head.max(MIN_BUFFER))
        .timer(HeadTimer(link.clone()))
        .header_read_timeout(options.header_timeout);
    if options.max_headers != ServerOptions::DEFAULT_MAX_HEADERS {
        builder.max_headers(options.max_headers);
    }
    // `pipeline_flush` stays off. With it, a reply waits while any byte of a later request is in the buffer, and replies to
    // a client that never reads pile up without bound.
    builder
}

pub(crate) async fn serve<S: Answer>(server: Arc<Server<S>>, io: Io, mut watch: Watch) {
    let link = watch.link().clone();
    let builder = builder(&server.options, &link);
    // There the end of the connection may be the end of a reply.
    let saw_http_10 = AtomicBool::new(false);
    let respond = service_fn(|request: Request<Incoming>| {
        let http_10 = request.version() == Version::HTTP_10;
        if http_10 {
            saw_http_10.store(true, Relaxed);
        }
        server.service.call(request).map_ok(move |mut reply| {
            // hyper would add `keep-alive` to what the reply says itself, if it took it for one of HTTP/1.1.
            if http_10 && reply.headers().contains_key(CONNECTION) {
                *reply.version_mut() = Version::HTTP_10;
            }
            reply
        })
    });
    let mut connection = builder.serve_connection(TokioIo::new(io), respond);
    let mut drained_idle = false;
    let end = poll_fn(|cx| {
        loop {
            if let Poll::Ready(result) = Pin::new(&mut connection).poll(cx) {
                return Poll::Ready(Some(result));
            }
            match ready!(watch.poll(cx)) {
                Alarm::Drain => {
                    drained_idle = link.awaits_head();
                    Pin::new(&mut connection).graceful_shutdown();
                }
                // hyper finds it when it is polled next.
                Alarm::HeadLate => link.head_is_late(),
                Alarm::WriteLate => return Poll::Ready(None),
            }
        }
    })
    .await;
    let Some(result) = end else {
        tracing::debug!("a connection was cut");
        return;
    };
    let stream = connection.into_parts().io.into_inner().into_stream();
    match result {
        // Nothing was under way that a reset could destroy, and the shutdown need not wait for the client.
        Ok(()) if drained_idle => {}
        Ok(()) => linger(stream).await,
        Err(error) => {
            tracing::debug!("a connection ended: {error}");
            if error.is_parse() {
                linger(stream).await;
            } else if error.is_user() && saw_http_10.load(Relaxed) {
                // The end of the connection alone would look like the end of the reply.
                let _ = stream.set_zero_linger();
            }
        }
    }
}
