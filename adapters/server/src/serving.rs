//! Accepting connections, and the end of it.

use std::future::pending;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use pointwork_core::{BoxFuture, Published, ServerOptions, Serving};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use crate::connection;
use crate::connections::{Connections, Phase};
use crate::link::Link;
use crate::server::{Answer, Server};

/// The shortest and the longest wait after the operating system refused to accept.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// How often at most the log says that there are too many connections.
const FULL_WARNING: Duration = Duration::from_secs(10);

/// How long connections that were cut may take to let go of their sockets.
const CUT_TIME: Duration = Duration::from_secs(1);

/// Serves a listener with a service, in the name of the adapter whose state is `published`.
///
/// The options are [clamped](ServerOptions::clamped); failures of the listener are reported through `published`: a system
/// out of file descriptors once, and tried again (spec E1).
pub fn serve<S: Answer, T: Send + Sync + 'static>(
    adapter: &'static str,
    listener: TcpListener,
    options: &ServerOptions,
    published: Arc<Published<T>>,
    service: S,
) -> Serving {
    let server = Server {
        adapter,
        options: options.clone().clamped(),
        service,
        report: Box::new(move |message| published.report(message)),
    };
    Serving::new(|signal| run(Arc::new(server), listener, signal))
}

/// Cuts every connection when the server is dropped, in whatever state it is.
struct CutOnDrop(Arc<Connections>);

impl Drop for CutOnDrop {
    fn drop(&mut self) {
        self.0.advance(Phase::Cut);
    }
}

async fn run<S: Answer>(server: Arc<Server<S>>, listener: TcpListener, signal: BoxFuture<'static, ()>) {
    let connections = Arc::new(Connections::new());
    let cut = CutOnDrop(connections.clone());
    {
        let accepting = pin!(accept_all(&server, &listener, &connections));
        // The signal first: a server under load must see it too.
        match select(signal, accepting).await {
            Either::Left(((), _)) => {}
            Either::Right((never, _)) => match never {},
        }
    }
    drop(listener);
    connections.advance(Phase::Draining);
    let grace = server.options.shutdown_grace;
    if timeout(grace, connections.emptied()).await.is_err() {
        tracing::warn!(
            adapter = server.adapter,
            connections = connections.count(),
            "requests were still in flight {grace:?} after the signal to shut down, and are cut"
        );
        drop(cut);
        let _ = timeout(CUT_TIME, connections.emptied()).await;
    }
}

async fn accept_all<S: Answer>(
    server: &Arc<Server<S>>,
    listener: &TcpListener,
    connections: &Arc<Connections>,
) -> std::convert::Infallible {
    let options = &server.options;
    let slots = Arc::new(Semaphore::new(options.max_connections));
    let mut warned = None::<Instant>;
    loop {
        if slots.available_permits() == 0 && warned.is_none_or(|time| time.elapsed() >= FULL_WARNING) {
            warned = Some(Instant::now());
            let most = options.max_connections;
            tracing::warn!(
                adapter = server.adapter,
                "all {most} connections are in use, further ones wait"
            );
        }
        // It waits here, before it accepts, so that the backlog of the operating system holds the rest.
        let Ok(slot) = slots.clone().acquire_owned().await else {
            // Nobody closes the semaphore.
            return pending().await;
        };
        let stream = accept(server, listener).await;
        // Replies are written whole, so waiting for more to send along only costs time.
        let _ = stream.set_nodelay(true);
        let entry = connections.enter(Link::new(options.header_timeout, options.write_timeout));
        let server = server.clone();
        tokio::spawn(async move {
            connection::serve(server, stream, entry).await;
            drop(slot);
        });
    }
}

/// The next connection, however long the operating system has none to give.
async fn accept<S>(server: &Server<S>, listener: &TcpListener) -> TcpStream {
    let (mut wait, longest) = BACKOFF;
    let mut reported = false;
    loop {
        let error = match listener.accept().await {
            Ok((stream, _)) => return stream,
            Err(error) => error,
        };
        if is_of_the_client(&error) {
            continue;
        }
        if !reported {
            reported = true;
            (server.report)(format!("no connection can be accepted, trying again: {error}"));
        }
        sleep(wait).await;
        wait = (wait * 2).min(longest);
    }
}

/// The client went away between its arrival and our turn.
fn is_of_the_client(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionRefused
    )
}
