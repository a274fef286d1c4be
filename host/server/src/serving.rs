//! Accepting connections, and the end of it.

use std::collections::HashMap;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use pointwork_core::{BoxFuture, Published, ServerOptions, Serving};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, sleep, timeout};

use crate::connection;
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

/// The open connections. Dropping it cuts them.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    links: HashMap<Id, Arc<Link>>,
}

impl Connections {
    /// Waits until one ends; false if none is open.
    async fn ended(&mut self) -> bool {
        let Some(ended) = self.tasks.join_next_with_id().await else {
            return false;
        };
        self.links
            .remove(&ended.map_or_else(|panicked| panicked.id(), |(id, ())| id));
        true
    }

    async fn all_ended(&mut self) {
        while self.ended().await {}
    }
}

async fn run<S: Answer>(server: Arc<Server<S>>, listener: TcpListener, mut signal: BoxFuture<'static, ()>) {
    let mut connections = Connections::default();
    tokio::select! {
        // The signal first: a server under load must see it too.
        biased;
        () = &mut signal => {}
        () = accept_all(&server, &listener, &mut connections) => {}
    }
    drop(listener);
    for link in connections.links.values() {
        link.drain();
    }
    let grace = server.options.shutdown_grace;
    if timeout(grace, connections.all_ended()).await.is_err() {
        tracing::warn!(
            adapter = server.adapter,
            connections = connections.tasks.len(),
            "requests were still in flight {grace:?} after the signal to shut down, and are cut"
        );
        connections.tasks.abort_all();
        let _ = timeout(CUT_TIME, connections.all_ended()).await;
    }
}

async fn accept_all<S: Answer>(server: &Arc<Server<S>>, listener: &TcpListener, connections: &mut Connections) {
    let options = &server.options;
    let most = options.max_connections;
    let mut warned = None::<Instant>;
    loop {
        // It waits here, before it accepts, so that the backlog of the operating system holds the rest.
        while connections.tasks.len() >= most {
            if warned.is_none_or(|time| time.elapsed() >= FULL_WARNING) {
                warned = Some(Instant::now());
                tracing::warn!(
                    adapter = server.adapter,
                    "all {most} connections are in use, further ones wait"
                );
            }
            connections.ended().await;
        }
        let mut accepting = pin!(accept(server, listener));
        let stream = loop {
            tokio::select! {
                // Connections that ended come first, so that they do not count as open however fast others come.
                biased;
                true = connections.ended() => {}
                stream = &mut accepting => break stream,
            }
        };
        // Replies are written whole, so waiting for more to send along only costs time.
        let _ = stream.set_nodelay(true);
        let link = Arc::new(Link::new(options.header_timeout, options.write_timeout));
        let task = connections
            .tasks
            .spawn(connection::serve(server.clone(), stream, link.clone()));
        connections.links.insert(task.id(), link);
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
