//! trillium's own server: its configuration, and the graceful shutdown.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{Either, select};
use pointwork_core::adapter::{AdapterState, CUT_TIME, Place};
use pointwork_core::{BoxFuture, Protocols, ServerOptions};
use tokio::net::TcpListener;
use tokio::time::timeout;
use trillium_http::HttpConfig;
use trillium_server_common::{Config, Swansong};

use crate::handler::TrilliumHandler;
use crate::listener::Listener;
use crate::socket::timers;
use crate::tasks::Tasks;

/// The number of bytes of a reply that are gathered before they are written.
const WRITE: usize = 64 * 1024;

pub(crate) async fn run(state: Arc<AdapterState>, listener: TcpListener, signal: BoxFuture<'static, ()>) {
    let options = state.options();
    state.warn_not_kept(&not_kept(options));
    let swansong = Swansong::new();
    let config = Config::<Listener, ()>::new()
        .without_signals()
        .with_nodelay()
        // The listener counts the connections. Beyond trillium's limit a client waits for its 503 without a timeout.
        .with_max_connections(Some(usize::MAX))
        .with_swansong(swansong.clone())
        .with_http_config(http_config(options))
        .with_prebound_server(Listener::new(state.clone(), listener));
    let tasks = AbortOnDrop(config.runtime());
    let mut serving = pin!(config.run_async(TrilliumHandler::new(state.clone(), Place::Everything)));
    // The signal first: a server under load must see it too.
    if let Either::Right(((), _)) = select(signal, &mut serving).await {
        return;
    }
    swansong.shut_down();
    if timers(options)
        .timeout(options.shutdown_grace, tasks.0.ended())
        .await
        .is_none()
    {
        state.warn_cut(tasks.0.count());
        tasks.0.abort();
        #[expect(
            clippy::disallowed_methods,
            reason = "`CUT_TIME` only bounds the cleanup of connections"
        )]
        let _ = timeout(CUT_TIME, tasks.0.ended()).await;
    }
}

/// Ends everything when the server is dropped, in whatever state it is.
struct AbortOnDrop(Tasks);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn http_config(options: &ServerOptions) -> HttpConfig {
    HttpConfig::default()
        // The handler refuses a longer head with 431; trillium closes the connection without a reply.
        .with_head_max_len((options.max_header_bytes as usize).saturating_mul(2))
        .with_body_write_chunk_len(WRITE)
}

/// The settings, and whether each was changed to a value that this server, which speaks HTTP/1 alone, cannot keep.
fn not_kept(options: &ServerOptions) -> [(&'static str, bool); 6] {
    let (http2, default) = (&options.http2, ServerOptions::default().http2);
    let pending_resets = http2.max_pending_resets != default.max_pending_resets;
    let faulty_streams = http2.max_faulty_streams != default.max_faulty_streams;
    [
        ("protocols", options.protocols == Protocols::Http2),
        ("http2.max_streams", http2.max_streams != default.max_streams),
        ("http2.max_pending_resets", pending_resets),
        ("http2.max_faulty_streams", faulty_streams),
        ("http2.ping_interval", http2.ping_interval != default.ping_interval),
        ("http2.ping_timeout", http2.ping_timeout != default.ping_timeout),
    ]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn only_changed_settings_of_http_2_are_named() {
        let named = |options: &ServerOptions| {
            let affected = not_kept(options).into_iter().filter(|(_, affected)| *affected);
            affected.map(|(name, _)| name).collect::<Vec<_>>()
        };
        let mut options = ServerOptions::default();
        options.protocols = Protocols::Http1;
        options.keep_alive = false;
        options.max_connections = 7;
        assert!(named(&options).is_empty());
        options.protocols = Protocols::Http2;
        options.http2.max_streams = 7;
        options.http2.ping_timeout = Duration::from_secs(1);
        assert_eq!(
            named(&options),
            ["protocols", "http2.max_streams", "http2.ping_timeout"]
        );
    }
}
