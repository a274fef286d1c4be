//! actix-server and actix-http as the options want them, and the end of serving.

use std::io;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use actix_http::{HttpService, KeepAlive, Request};
use actix_server::{GracefulShutdownSignal, Server};
use actix_service::{Service, ServiceFactory, fn_factory, fn_service};
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use pointwork_core::{BoxFuture, Protocols, ServerOptions};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::adapter::{Inner, NAME};
use crate::connection::{Connection, Io, LINGER, Link};

/// How long connections that were cut may take to let go of their sockets.
const CUT_TIME: Duration = Duration::from_secs(1);

/// actix-server takes no more.
const MOST_WORKERS: usize = 512;

/// actix-http takes no more header lines, whatever is asked for.
const MOST_HEADERS: usize = 96;

/// actix-http takes no longer head, in bytes.
const MOST_HEADER_BYTES: u32 = 128 * 1024;

/// Serves a listener until the signal, or until it turns out that it cannot.
pub(crate) async fn run(adapter: Arc<Inner>, listener: TcpListener, signal: BoxFuture<'static, ()>) {
    for setting in not_kept(&adapter.options) {
        tracing::warn!(
            adapter = NAME,
            setting,
            "the server of actix-web cannot keep this setting; the docs of `pointwork-actix` say what holds instead"
        );
    }
    // Each open connection has a receiver.
    let connections = Arc::new(watch::Sender::new(()));
    let mut server = match server(&adapter, listener, &connections) {
        Ok(server) => server,
        Err(error) => return failed(&adapter, &error),
    };
    // The signal first: a server under load must see it too.
    match select(signal, &mut server).await {
        Either::Left(((), _)) => {}
        Either::Right((Ok(()), _)) => return,
        Either::Right((Err(error), _)) => return failed(&adapter, &error),
    }
    // The server learns it when it is polled, and closes the listener. It looks for the end of its connections once in a
    // second, so its own completion is not waited for.
    let stopped = server.handle().stop(true);
    let grace = adapter.options.shutdown_grace;
    let in_time = {
        let closed = std::pin::pin!(connections.closed());
        let server = std::pin::pin!(async {
            let _ = (&mut server).await;
            stopped.await;
        });
        timeout(grace, select(server, closed)).await.is_ok()
    };
    if !in_time {
        tracing::warn!(
            adapter = NAME,
            connections = connections.receiver_count(),
            "requests were still in flight {grace:?} after the signal to shut down, and are cut"
        );
    }
    // Stops the workers, whatever they do, and waits for the listener to be closed.
    drop(server);
    let _ = timeout(CUT_TIME, connections.closed()).await;
}

fn server(adapter: &Arc<Inner>, listener: TcpListener, connections: &Arc<watch::Sender<()>>) -> io::Result<Server> {
    let most = adapter.options.max_connections;
    let cores = available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = cores.min(MOST_WORKERS).min(most);
    let builder = Server::build()
        .disable_signals()
        .workers(workers)
        .max_concurrent_connections(most / workers)
        // The grace is watched here.
        .shutdown_timeout(u64::MAX);
    let (adapter, connections) = (adapter.clone(), connections.clone());
    let shutdown = builder.graceful_shutdown_signal();
    let worker = move || factory(adapter.clone(), connections.clone(), shutdown.clone());
    Ok(builder.listen("pointwork", listener.into_std()?, worker)?.run())
}

/// The service of one worker: actix-http's HTTP/1, with nothing between it and the core.
fn factory(
    adapter: Arc<Inner>,
    connections: Arc<watch::Sender<()>>,
    shutdown: GracefulShutdownSignal,
) -> impl ServiceFactory<TcpStream, Config = (), Response = (), Error = (), InitError = ()> {
    let keep_alive = if adapter.options.keep_alive {
        // The time is watched by us, see `Link`, and so is that for the first head.
        KeepAlive::Os
    } else {
        KeepAlive::Disabled
    };
    let options = adapter.options.clone();
    let h1 = HttpService::build()
        .keep_alive(keep_alive)
        .client_request_timeout(Duration::ZERO)
        .client_disconnect_timeout(LINGER)
        // A client that closes its half counts as gone, see `Link`. actix-http would also give up the request in flight over a
        // malformed one behind it.
        .h1_allow_half_closed(true)
        .graceful_shutdown_signal(move || {
            let shutdown = shutdown.clone();
            async move { shutdown.notified().await }
        })
        .on_connect_ext(|io: &Io, data| {
            data.insert(io.link.clone());
        })
        .h1(fn_service(move |mut request: Request| {
            let (payload, connection) = (request.take_payload(), request.take_conn_data());
            adapter
                .answer(request.head(), None, payload, connection)
                .map(Ok::<_, actix_http::Error>)
        }));
    let h1 = Rc::new(h1);
    fn_factory(move || {
        let (h1, options, connections) = (h1.clone(), options.clone(), connections.clone());
        async move {
            let h1 = Rc::new(h1.new_service(()).await?);
            Ok(fn_service(move |stream: TcpStream| {
                let link = Link::new(&options);
                // Replies are written whole, so waiting for more to send along only costs time.
                let _ = stream.set_nodelay(true);
                let peer = stream.peer_addr().ok();
                let http = h1.call((Io::new(stream, link.clone()), peer));
                Connection::new(http, link, connections.subscribe())
            }))
        }
    })
}

/// The settings that somebody changed and that this server cannot keep.
fn not_kept(options: &ServerOptions) -> Vec<&'static str> {
    let default = ServerOptions::default();
    let settings = [
        ("protocols", options.protocols == Protocols::Http2),
        ("http2", options.http2 != default.http2),
        (
            "max_headers",
            options.max_headers != default.max_headers && options.max_headers > MOST_HEADERS,
        ),
        ("max_header_bytes", options.max_header_bytes > MOST_HEADER_BYTES),
    ];
    settings
        .into_iter()
        .filter_map(|(name, lost)| lost.then_some(name))
        .collect()
}

fn failed(adapter: &Inner, error: &io::Error) {
    adapter
        .published
        .report(format!("the server cannot be started: {error}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_cannot_be_kept_is_named() {
        assert!(not_kept(&ServerOptions::default()).is_empty());
        let mut options = ServerOptions::default();
        options.protocols = Protocols::Http1;
        options.max_headers = 20;
        options.max_header_bytes = 128 * 1024;
        assert!(not_kept(&options).is_empty());
        options.protocols = Protocols::Http2;
        options.http2.max_streams = 1;
        options.max_headers = 97;
        options.max_header_bytes += 1;
        assert_eq!(
            not_kept(&options),
            ["protocols", "http2", "max_headers", "max_header_bytes"]
        );
    }
}
