//! actix-server and actix-http with the options, and the graceful shutdown.

use std::io;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use actix_http::{HttpService, KeepAlive, Request};
use actix_server::{GracefulShutdownSignal, Server};
use actix_service::{Service, ServiceFactory, fn_factory, fn_service};
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use pointwork_core::adapter::{AdapterState, CUT_TIME, Framing};
use pointwork_core::{BoxFuture, Peer, Protocols, ServerOptions};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::answer::serve;
use crate::connection::{Connection, Io};
use crate::state::{ConnectionState, LINGER, timers};

/// actix-server takes no more.
const MOST_WORKERS: usize = 512;

/// actix-http takes no more header lines, whatever the options allow.
const MOST_HEADERS: usize = 96;

/// actix-http takes no longer head, in bytes.
const MOST_HEADER_BYTES: u32 = 128 * 1024;

/// Each open connection has a receiver.
type OpenConnections = Arc<watch::Sender<()>>;

/// Serves a listener until the signal, or until an error shows that it cannot.
pub(crate) async fn run(adapter: Arc<AdapterState>, listener: TcpListener, signal: BoxFuture<'static, ()>) {
    adapter.warn_not_kept(&not_kept(adapter.options()));
    let failed = |error: &io::Error| adapter.report(format!("the server cannot be started: {error}"));
    let connections = OpenConnections::default();
    let mut server = match server(&adapter, listener, &connections) {
        Ok(server) => server,
        Err(error) => return failed(&error),
    };
    // The signal first: a server under load must see it too.
    match select(signal, &mut server).await {
        Either::Left(((), _)) => {}
        Either::Right((Ok(()), _)) => return,
        Either::Right((Err(error), _)) => return failed(&error),
    }
    // The server closes its listener when it is polled. It looks for the end of its connections once in a second, so its
    // own completion is not awaited.
    let stopped = server.handle().stop(true);
    let in_time = {
        let closed = pin!(connections.closed());
        let server = pin!(async {
            let _ = (&mut server).await;
            stopped.await;
        });
        let grace = adapter.options().shutdown_grace;
        timers(adapter.options())
            .timeout(grace, select(server, closed))
            .await
            .is_some()
    };
    if !in_time {
        adapter.warn_cut(connections.receiver_count());
    }
    // Stops the workers, whatever they do, and waits for the listener to be closed.
    drop(server);
    #[expect(
        clippy::disallowed_methods,
        reason = "`CUT_TIME` only bounds the cleanup of connections"
    )]
    let _ = timeout(CUT_TIME, connections.closed()).await;
}

fn server(adapter: &Arc<AdapterState>, listener: TcpListener, connections: &OpenConnections) -> io::Result<Server> {
    let most = adapter.options().max_connections;
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
    adapter: Arc<AdapterState>,
    connections: OpenConnections,
    shutdown: GracefulShutdownSignal,
) -> impl ServiceFactory<TcpStream, Config = (), Response = (), Error = (), InitError = ()> {
    let options = adapter.options().clone();
    let keep_alive = if options.keep_alive {
        // Without a timeout: `ConnectionState` has one, and the one for the first head.
        KeepAlive::Os
    } else {
        KeepAlive::Disabled
    };
    let h1 = HttpService::build()
        .keep_alive(keep_alive)
        .client_request_timeout(Duration::ZERO)
        .client_disconnect_timeout(LINGER)
        // A client that closes its half counts as gone, see `ConnectionState`. actix-http would also give up the request in
        // flight over a malformed one behind it.
        .h1_allow_half_closed(true)
        .graceful_shutdown_signal(move || {
            let shutdown = shutdown.clone();
            async move { shutdown.notified().await }
        })
        .on_connect_ext(|io: &Io, data| {
            data.insert(io.state.clone());
        })
        .h1(fn_service(move |mut request: Request| {
            let (payload, connection) = (request.take_payload(), request.take_conn_data());
            let peer = Peer::new(request.peer_addr(), false);
            serve(&adapter, (request.head(), peer), payload, connection).map(Ok::<_, actix_http::Error>)
        }));
    let h1 = Rc::new(h1);
    fn_factory(move || {
        let (h1, options, connections) = (h1.clone(), options.clone(), connections.clone());
        // On a thread of each worker.
        options.clock.register_thread();
        async move {
            let h1 = Rc::new(h1.new_service(()).await?);
            Ok(fn_service(move |stream: TcpStream| {
                let state = ConnectionState::new(&options);
                // Replies are written whole, so waiting for more to send along only costs time.
                let _ = stream.set_nodelay(true);
                let peer = stream.peer_addr().ok();
                let io = Io {
                    stream,
                    state: state.clone(),
                    framing: Framing::new(options.max_header_bytes),
                };
                Connection::new(h1.call((io, peer)), state, connections.subscribe())
            }))
        }
    })
}

/// The settings, and whether each was changed to a value that this server cannot keep.
fn not_kept(options: &ServerOptions) -> [(&'static str, bool); 4] {
    let default = ServerOptions::default();
    let max_headers = options.max_headers;
    [
        ("protocols", options.protocols == Protocols::Http2),
        ("http2", options.http2 != default.http2),
        (
            "max_headers",
            max_headers != default.max_headers && max_headers > MOST_HEADERS,
        ),
        ("max_header_bytes", options.max_header_bytes > MOST_HEADER_BYTES),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_named_only_if_its_value_cannot_be_kept() {
        let mut options = ServerOptions::default();
        assert!(not_kept(&options).iter().all(|(_, affected)| !affected));
        options.protocols = Protocols::Http1;
        options.max_headers = 20;
        options.max_header_bytes = 128 * 1024;
        assert!(not_kept(&options).iter().all(|(_, affected)| !affected));
        options.protocols = Protocols::Http2;
        options.http2.max_streams = 1;
        options.max_headers = 97;
        options.max_header_bytes += 1;
        assert!(not_kept(&options).iter().all(|(_, affected)| *affected));
    }
}
