//! Accepting connections, and the end of it.

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use actix_server::Server;
use futures_util::future::{Either, select};
use pointwork_core::BoxFuture;
use tokio::net::TcpListener;
use tokio::time::timeout;

use crate::ActixService;
use crate::adapter::Inner;
use crate::connection::{self, Shared};
use crate::connections::{Connections, Phase};

/// How long connections that were cut may take to let go of their sockets.
const CUT_TIME: Duration = Duration::from_secs(1);

/// actix-server takes no more.
const MOST_WORKERS: usize = 512;

/// Cuts every connection when the server is dropped, in whatever state it is.
struct CutOnDrop(Arc<Connections>);

impl Drop for CutOnDrop {
    fn drop(&mut self) {
        self.0.advance(Phase::Cut);
    }
}

/// Serves a listener until the signal, or until it turns out that it cannot.
pub(crate) async fn run(adapter: Arc<Inner>, listener: TcpListener, signal: BoxFuture<'static, ()>) {
    let connections = Arc::new(Connections::new());
    let cut = CutOnDrop(connections.clone());
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
    connections.advance(Phase::Draining);
    let grace = adapter.options.shutdown_grace;
    let in_time = {
        let emptied = std::pin::pin!(connections.emptied());
        let server = std::pin::pin!(async {
            let _ = (&mut server).await;
            stopped.await;
        });
        timeout(grace, select(emptied, server)).await.is_ok()
    };
    if !in_time {
        tracing::warn!(
            adapter = "actix",
            connections = connections.count(),
            "requests were still in flight {grace:?} after the signal to shut down, and are cut"
        );
        drop(cut);
    }
    // Stops the workers, whatever they do, and waits for the listener to be closed.
    drop(server);
    let _ = timeout(CUT_TIME, connections.emptied()).await;
}

fn server(adapter: &Arc<Inner>, listener: TcpListener, connections: &Arc<Connections>) -> io::Result<Server> {
    let options = &adapter.options;
    let cores = available_parallelism().map_or(1, NonZeroUsize::get);
    let workers = cores.min(MOST_WORKERS).min(options.max_connections);
    let shared = Shared {
        service: ActixService::new(adapter.clone()),
        options: Arc::new(options.clone()),
        connections: connections.clone(),
    };
    let builder = Server::build()
        .disable_signals()
        .workers(workers)
        .max_concurrent_connections(options.max_connections / workers)
        // The grace is watched here.
        .shutdown_timeout(u64::MAX)
        .listen("pointwork", listener.into_std()?, move || {
            connection::factory(shared.clone())
        })?;
    Ok(builder.run())
}

fn failed(adapter: &Inner, error: &io::Error) {
    adapter
        .published
        .report(format!("the server cannot be started: {error}"));
}
