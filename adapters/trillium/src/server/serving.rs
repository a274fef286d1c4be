//! A server from its first connection to its last.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use pointwork_core::{BoxFuture, ServerOptions};
use tokio::net::TcpListener;
use tokio::time::timeout;
use trillium_http::HttpConfig;
use trillium_server_common::{Config, Swansong};

use super::accept::Begin;
use super::connections::{Connections, Phase};
use super::endpoint::Endpoint;
use super::listener::Listener;
use crate::adapter::Inner;

/// How long connections that were cut may take to let go of their sockets.
const CUT_TIME: Duration = Duration::from_secs(1);

/// How much of a reply is gathered before it is written.
const WRITE: usize = 64 * 1024;

/// Ends everything when the server is dropped, in whatever state it is.
struct CutOnDrop {
    connections: Arc<Connections>,
    swansong: Swansong,
}

impl Drop for CutOnDrop {
    fn drop(&mut self) {
        self.connections.advance(Phase::Cut);
        // trillium accepts in a task of its own.
        self.swansong.shut_down();
    }
}

/// Serves a listener until the signal.
pub(crate) async fn run(server: Arc<Inner>, listener: TcpListener, signal: BoxFuture<'static, ()>) {
    let grace = server.options.shutdown_grace;
    let connections = Arc::new(Connections::new());
    let cut = CutOnDrop {
        connections: connections.clone(),
        swansong: Swansong::new(),
    };
    let config = Config::<Listener, ()>::new()
        .without_signals()
        .with_nodelay()
        // The listener counts the connections itself.
        .with_max_connections(Some(usize::MAX))
        .with_swansong(cut.swansong.clone())
        .with_http_config(http_config(&server.options))
        .with_prebound_server(Listener::new(server.clone(), listener, connections.clone()))
        .with_acceptor(Begin);
    let mut serving = pin!(config.run_async(Endpoint::new(server, connections.clone())));
    // The signal first: a server under load must see it too.
    if let Either::Right(((), _)) = select(signal, &mut serving).await {
        return;
    }
    connections.advance(Phase::Draining);
    cut.swansong.shut_down();
    let ended = async {
        serving.await;
        connections.emptied().await;
    };
    if timeout(grace, ended).await.is_err() {
        tracing::warn!(
            adapter = "trillium",
            connections = connections.count(),
            "requests were still in flight {grace:?} after the signal to shut down, and are cut"
        );
        drop(cut);
        let _ = timeout(CUT_TIME, connections.emptied()).await;
    }
}

fn http_config(options: &ServerOptions) -> HttpConfig {
    HttpConfig::default()
        // The head that trillium reads is the adapter's, which has refused longer ones.
        .with_head_max_len(usize::MAX)
        .with_received_body_max_len(u64::MAX)
        .with_body_write_chunk_len(WRITE)
        .with_max_header_list_size(u64::from(options.max_header_bytes))
        .with_h2_max_concurrent_streams(options.http2.max_streams)
}
