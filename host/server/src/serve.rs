//! Accepting connections, and the graceful shutdown.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use hyper::service::Service;
use pointwork_core::adapter::{AcceptLoop, AdapterState, CUT_TIME};
use pointwork_core::{BoxFuture, ServerOptions, Serving};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{Id, JoinSet};
use tokio::time::timeout;

use crate::body::BoxError;
use crate::connection;
use crate::state::{ConnectionState, timers};

/// The part of a server that its connections share.
pub(crate) struct Server<S> {
    pub(crate) options: ServerOptions,
    pub(crate) service: S,
}

/// A service that answers every request: the argument of [`serve`](crate::serve).
///
/// Every [`hyper::service::Service`] is one that never fails, and whose replies have a body of [`Bytes`].
pub trait InfallibleService:
    Service<Request<Incoming>, Response = Response<Self::ResBody>, Error = Infallible, Future: Send> + Send + Sync + 'static
{
    /// The body of a reply.
    type ResBody: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static;
}

impl<S, B> InfallibleService for S
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send> + Send + Sync + 'static,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type ResBody = B;
}

/// Serves a listener with a service, in the name of an adapter, with its options.
///
/// An error of the listener, such as a process out of file descriptors, is reported once and tried again (spec E1).
pub fn serve<T, S>(adapter: &Arc<AdapterState<T>>, listener: TcpListener, service: S) -> Serving
where
    T: Send + Sync + 'static,
    S: InfallibleService,
{
    let (adapter, options) = (adapter.clone(), adapter.options().clone());
    let server = Arc::new(Server { options, service });
    Serving::new(|signal| run(adapter, server, listener, signal))
}

/// The open connections. Dropping it cuts them.
#[derive(Default)]
struct Connections {
    tasks: JoinSet<()>,
    states: HashMap<Id, Arc<ConnectionState>>,
}

impl Connections {
    fn open<S: InfallibleService>(&mut self, server: &Arc<Server<S>>, stream: TcpStream, peer: SocketAddr) {
        // Replies are written whole, so waiting for more to send along only costs time.
        let _ = stream.set_nodelay(true);
        let state = ConnectionState::new(&server.options, peer);
        let serving = connection::serve(server.clone(), stream, state.clone());
        self.states.insert(self.tasks.spawn(serving).id(), state);
    }

    /// Waits until one ends; false if none is open.
    async fn one_ended(&mut self) -> bool {
        let Some(ended) = self.tasks.join_next_with_id().await else {
            return false;
        };
        let id = ended.map_or_else(|panicked| panicked.id(), |(id, ())| id);
        self.states.remove(&id);
        true
    }

    async fn all_ended(&mut self) {
        while self.one_ended().await {}
    }
}

async fn run<T, S>(
    adapter: Arc<AdapterState<T>>,
    server: Arc<Server<S>>,
    listener: TcpListener,
    mut signal: BoxFuture<'static, ()>,
) where
    T: Send + Sync + 'static,
    S: InfallibleService,
{
    let mut connections = Connections::default();
    let timers = timers(&server.options);
    let mut accepting = AcceptLoop::new(adapter.clone(), timers.clone());
    loop {
        let is_full = connections.tasks.len() >= server.options.max_connections;
        if is_full {
            accepting.full();
        }
        tokio::select! {
            // The signal first: a server under load must see it too. Then the connections that ended, so that they do not
            // count as open however fast others come.
            biased;
            () = &mut signal => break,
            true = connections.one_ended() => {}
            // A full server does not accept, so the backlog of the operating system holds the rest.
            (stream, peer) = accepting.next(|| listener.accept()), if !is_full => {
                connections.open(&server, stream, peer);
            }
        }
    }
    drop(listener);
    for state in connections.states.values() {
        state.drain();
    }
    let grace = server.options.shutdown_grace;
    if timers.timeout(grace, connections.all_ended()).await.is_none() {
        adapter.warn_cut(connections.tasks.len());
        connections.tasks.abort_all();
        #[expect(
            clippy::disallowed_methods,
            reason = "`CUT_TIME` only bounds the cleanup of connections"
        )]
        let _ = timeout(CUT_TIME, connections.all_ended()).await;
    }
}
