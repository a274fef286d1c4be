//! Accepting, limiting and ending connections.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioTimer;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use tokio::task::JoinSet;

use crate::listener::{Connection, Listener};
use crate::places::{Place, Places};

/// The time for the head of a further request on an authorised connection.
const HEAD: Duration = Duration::from_secs(10);

/// The pause after a connection could not be accepted, most often for lack of file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Serves until `signal`; then requests in flight have `grace` to end.
pub(crate) async fn serve(listener: Listener, router: Router, signal: impl Future<Output = ()>, grace: Duration) {
    let graceful = GracefulShutdown::new();
    let places = Places::new();
    // Dropped with this future, which closes every connection.
    let mut connections = JoinSet::new();
    let mut signal = std::pin::pin!(signal);
    loop {
        tokio::select! {
            () = &mut signal => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok(connection) => {
                    let (router, watcher) = (router.clone(), graceful.watcher());
                    connections.spawn(serve_connection(connection, router, watcher, places.take()));
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

async fn serve_connection(connection: Connection, router: Router, watcher: Watcher, place: Arc<Place>) {
    let service = TowerToHyperService::new(router);
    let of_requests = place.clone();
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(of_requests.clone());
        service.call(request)
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(connection, service);
    tokio::select! {
        served = watcher.watch(serving) => if let Err(error) = served {
            tracing::debug!("a connection to the admin endpoint broke: {error}");
        },
        () = place.lost() => tracing::debug!("a connection to the admin endpoint without an authorised request is closed"),
    }
}
