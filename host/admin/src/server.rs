//! Connections: accepted, bounded, and ended.

use std::future::Future;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinSet;

use crate::listener::{Connection, Listener};

/// How many connections there may be at a time; further ones wait to be accepted. Operators and scrapers are few.
const CONNECTIONS: usize = 64;

/// How long a client may take for the head of a request.
const HEAD: Duration = Duration::from_secs(10);

/// How long to wait when a connection cannot be accepted, which is for want of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers with `router` until `signal`, and after that for `grace` at most to those who asked before.
pub(crate) async fn serve(listener: Listener, router: Router, signal: impl Future<Output = ()>, grace: Duration) {
    let graceful = GracefulShutdown::new();
    // Dropped with this future, and with it every connection.
    let mut connections = JoinSet::new();
    let mut signal = std::pin::pin!(signal);
    loop {
        tokio::select! {
            () = &mut signal => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < CONNECTIONS => match accepted {
                Ok(connection) => {
                    connections.spawn(answer(connection, router.clone(), graceful.watcher()));
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
            "the admin endpoint cut what was not done within {grace:?}"
        );
    }
}

async fn answer(connection: Connection, router: Router, watcher: Watcher) {
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(connection, TowerToHyperService::new(router));
    if let Err(error) = watcher.watch(serving).await {
        tracing::debug!("a connection to the admin endpoint broke: {error}");
    }
}
