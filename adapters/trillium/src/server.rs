//! trillium's own server, configured: its listener, its tasks, and its end.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, ready};
use std::time::Duration;

use futures_util::future::{Either, select};
use pointwork_core::{BoxFuture, Protocols, ServerOptions};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;
use trillium_http::HttpConfig;
use trillium_server_common::{Config, DroppableFuture, Runtime, RuntimeTrait, Stream, Swansong};
use trillium_tokio::TokioRuntime;

use crate::TrilliumHandler;
use crate::adapter::{Inner, NAME};
use crate::listener::Listener;

/// How long connections that were cut may take to let go of their sockets.
const CUT_TIME: Duration = Duration::from_secs(1);

/// How much of a reply is gathered before it is written, in bytes.
const WRITE: usize = 64 * 1024;

/// Serves a listener until the signal.
pub(crate) async fn run(inner: Arc<Inner>, listener: TcpListener, signal: BoxFuture<'static, ()>) {
    for setting in not_kept(&inner.options) {
        tracing::warn!(
            adapter = NAME,
            setting,
            "trillium's server cannot keep this setting: it speaks HTTP/1.0 and HTTP/1.1 alone"
        );
    }
    let grace = inner.options.shutdown_grace;
    let swansong = Swansong::new();
    let config = Config::<Listener, ()>::new()
        .without_signals()
        .with_nodelay()
        // The listener counts the connections. Beyond trillium's limit a client waits for its 503 without a time limit.
        .with_max_connections(Some(usize::MAX))
        .with_swansong(swansong.clone())
        .with_http_config(http_config(&inner.options))
        .with_prebound_server(Listener::new(inner.clone(), listener));
    let cut = CutOnDrop(config.runtime());
    let mut serving = pin!(config.run_async(TrilliumHandler::served(inner)));
    // The signal first: a server under load must see it too.
    if let Either::Right(((), _)) = select(signal, &mut serving).await {
        return;
    }
    swansong.shut_down();
    if timeout(grace, cut.0.ended()).await.is_err() {
        tracing::warn!(
            adapter = NAME,
            "requests were still in flight {grace:?} after the signal to shut down, and are cut"
        );
        cut.0.lock().abort_all();
        let _ = timeout(CUT_TIME, cut.0.ended()).await;
    }
}

fn http_config(options: &ServerOptions) -> HttpConfig {
    HttpConfig::default()
        // The handler refuses a longer head with 431; trillium closes the connection without a reply.
        .with_head_max_len((options.max_header_bytes as usize).saturating_mul(2))
        .with_body_write_chunk_len(WRITE)
}

/// The settings that differ from the default, and that trillium's server cannot keep.
fn not_kept(options: &ServerOptions) -> Vec<&'static str> {
    let (asked, default) = (&options.http2, ServerOptions::default().http2);
    let settings = [
        ("protocols", options.protocols == Protocols::Http2),
        ("http2.max_streams", asked.max_streams != default.max_streams),
        (
            "http2.max_pending_resets",
            asked.max_pending_resets != default.max_pending_resets,
        ),
        (
            "http2.max_faulty_streams",
            asked.max_faulty_streams != default.max_faulty_streams,
        ),
        ("http2.ping_interval", asked.ping_interval != default.ping_interval),
        ("http2.ping_timeout", asked.ping_timeout != default.ping_timeout),
    ];
    let changed = settings.into_iter().filter(|(_, changed)| *changed);
    changed.map(|(name, _)| name).collect()
}

/// tokio, with all tasks of one server in one set, so that they can be awaited and ended: trillium detaches them.
#[derive(Clone, Debug)]
pub(crate) struct Tasks {
    tokio: TokioRuntime,
    set: Arc<Mutex<JoinSet<()>>>,
}

impl Tasks {
    pub(crate) fn new() -> Self {
        Self {
            tokio: TokioRuntime::default(),
            set: Arc::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, JoinSet<()>> {
        // Nothing panics while it holds the lock.
        self.set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes when no task is left.
    async fn ended(&self) {
        poll_fn(|cx| {
            let mut set = self.lock();
            while ready!(set.poll_join_next(cx)).is_some() {}
            Poll::Ready(())
        })
        .await;
    }
}

impl RuntimeTrait for Tasks {
    fn spawn<Fut>(&self, fut: Fut) -> DroppableFuture<impl Future<Output = Option<Fut::Output>> + Send + 'static>
    where
        Fut: Future + Send + 'static,
        Fut::Output: Send + 'static,
    {
        let (done, output) = oneshot::channel();
        let mut set = self.lock();
        // A task that has ended stays in the set until it is asked for.
        while set.try_join_next().is_some() {}
        set.spawn(async move {
            let _ = done.send(fut.await);
        });
        DroppableFuture::new(async move { output.await.ok() })
    }

    async fn delay(&self, duration: Duration) {
        self.tokio.delay(duration).await;
    }

    fn interval(&self, period: Duration) -> impl Stream<Item = ()> + Send + 'static {
        self.tokio.interval(period)
    }

    fn block_on<Fut: Future>(&self, fut: Fut) -> Fut::Output {
        self.tokio.block_on(fut)
    }
}

impl From<Tasks> for Runtime {
    fn from(tasks: Tasks) -> Self {
        Arc::new(tasks).into()
    }
}

/// Ends everything when the server is dropped, in whatever state it is.
struct CutOnDrop(Tasks);

impl Drop for CutOnDrop {
    fn drop(&mut self) {
        self.0.lock().abort_all();
    }
}

#[cfg(test)]
mod tests;
