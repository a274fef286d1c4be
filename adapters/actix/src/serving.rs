//! Accepting connections, and the end of it.

use std::fmt;
use std::future::{Future, pending};
use std::io;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
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

/// A server at work: await it, or spawn it on a tokio runtime.
///
/// Made by [`Actix::serve`](crate::Actix::serve). The connections are served on workers of actix-server: threads of their
/// own, as many as there are cores. Without a signal it does not complete: neither a broken connection nor a system out
/// of file descriptors ends it. Only if the workers cannot be started at all it completes at once, and reports that as
/// `server:crashed` (spec E1).
///
/// # Cancel safety
/// Dropping it closes the listener and cuts every connection.
#[must_use = "nothing is served until it is awaited or spawned"]
pub struct Serving(State);

enum State {
    Fresh(Option<Start>),
    Running(BoxFuture<'static, ()>),
}

struct Start {
    adapter: Arc<Inner>,
    listener: TcpListener,
    signal: BoxFuture<'static, ()>,
}

impl Serving {
    pub(crate) fn new(adapter: Arc<Inner>, listener: TcpListener) -> Self {
        Self(State::Fresh(Some(Start {
            adapter,
            listener,
            signal: Box::pin(pending()),
        })))
    }

    /// Serves until the signal completes.
    ///
    /// Then no connection is accepted any more, idle ones close, and each request in flight gets its reply, the last of
    /// its connection. What is not done after
    /// [`shutdown_grace`](pointwork_core::ServerOptions::shutdown_grace) is cut, its handlers are cancelled, and
    /// `Serving` completes. Once serving began, a signal set here comes too late and is ignored.
    ///
    /// ```no_run
    /// # async fn example(shutdown: tokio::sync::oneshot::Receiver<()>) -> Result<(), pointwork_core::Error> {
    /// let actix = pointwork_actix::Actix::new();
    /// let listener = actix.bind("127.0.0.1:8080").await?;
    /// actix
    ///     .serve(listener)
    ///     .with_graceful_shutdown(async {
    ///         let _ = shutdown.await;
    ///     })
    ///     .await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn with_graceful_shutdown(mut self, signal: impl Future<Output = ()> + Send + 'static) -> Self {
        if let State::Fresh(Some(start)) = &mut self.0 {
            start.signal = Box::pin(signal);
        }
        self
    }
}

impl Future for Serving {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.0 {
                State::Running(running) => return running.as_mut().poll(cx),
                State::Fresh(start) => {
                    let Some(start) = start.take() else {
                        return Poll::Ready(());
                    };
                    self.0 = State::Running(Box::pin(run(start)));
                }
            }
        }
    }
}

impl fmt::Debug for Serving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Serving")
    }
}

/// Cuts every connection when the server is dropped, in whatever state it is.
struct CutOnDrop(Arc<Connections>);

impl Drop for CutOnDrop {
    fn drop(&mut self) {
        self.0.advance(Phase::Cut);
    }
}

async fn run(start: Start) {
    let Start {
        adapter,
        listener,
        signal,
    } = start;
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
