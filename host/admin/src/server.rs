//! Accepting, limiting and ending connections.

use std::future::Future;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinSet;

use crate::listener::{Connection, Listener};

/// The number of connections at a time; further ones wait to be accepted. Operators and scrapers are few.
const CONNECTIONS: usize = 64;

/// The time for the head of a request.
const HEAD: Duration = Duration::from_secs(10);

/// The pause after a connection could not be accepted, most often for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `signal`; then requests in flight have `grace` to end.
pub(crate) async fn serve(listener: Listener, router: Router, signal: impl Future<Output = ()>, grace: Duration) {
    let graceful = GracefulShutdown::new();
    // Dropped with this future, which closes every connection.
    let mut connections = JoinSet::new();
    let mut signal = std::pin::pin!(signal);
    loop {
        tokio::select! {
            () = &mut signal => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok(connection) => {
                    connections.spawn(serve_connection(connection, router.clone(), graceful.watcher()));
                }
                Err(error) => {
                    tracing::warn!("the admin endpoint cannot accept a connection: {error}");
                    tokio::time::sleep(PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    if tokio::time::timeout(grace, graceful.shutdown()).await.is_err() {
        tracing::warn!(
            connections = connections.len(),
            "the admin endpoint closed connections that did not end within {grace:?}"
        );
    }
}

async fn serve_connection(connection: Connection, router: Router, watcher: Watcher) {
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(connection, TowerToHyperService::new(router));
    if let Err(error) = watcher.watch(serving).await {
        tracing::debug!("a connection to the admin endpoint broke: {error}");
    }
}
