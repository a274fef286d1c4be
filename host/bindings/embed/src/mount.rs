//! The application within a server of the host's language.

use std::sync::Arc;

use futures_util::future::Either;
use http::request::Parts;
use http::{Request, Response};
use pointwork::routing::Pattern;
use pointwork::{Body, ConnectOptions, Staged, Transport};
use pointwork_core::adapter::{AdapterState, Place};
use pointwork_core::{BoxFuture, FoundRoute, Reporter, Router, ServerOptions};

use crate::error::Error;
use crate::host::Host;
use crate::nesting::{at_this_depth, nested};
use crate::request::{Done, Ended, Progress};
use crate::waiting::{Waiting, wait};

/// The application as it is mounted in one server of the host's language (spec X3). Cheap to clone.
#[derive(Clone, Debug)]
pub struct Mount {
    host: Host,
    state: Arc<AdapterState>,
    place: Place,
}

/// A request that a mount answers. It keeps the route that matched: in the extensions of the request it makes the same mount
/// answer by that route, also if a swap took the route away.
#[derive(Clone, Debug)]
pub struct Accepted {
    state: Arc<AdapterState>,
    found: Option<FoundRoute>,
}

struct Connected(Arc<AdapterState>);

impl Transport for Connected {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn attach(&self, reporter: Reporter, prefix: Pattern) -> Result<(), pointwork_core::Error> {
        self.0.attach(reporter, prefix)
    }

    fn covers_path(&self, pattern: &Pattern) -> bool {
        self.0.covers_path(pattern)
    }

    fn stage(&self, router: Arc<Router>) -> Result<Staged, pointwork_core::Error> {
        Ok(self.0.stage(&router, ()))
    }

    fn close(&self) {
        self.0.close();
    }
}

impl Mount {
    pub(crate) fn connect(host: Host, name: &'static str, place: Place, prefix: Option<&str>) -> Result<Self, Error> {
        let state = AdapterState::new(name, ServerOptions::new());
        let mut options = ConnectOptions::new();
        options.prefix = prefix.map(str::to_owned);
        host.app()?.connect_to(Connected(state.clone()), options)?;
        if place == Place::Below {
            state.mount_below();
        }
        Ok(Self { host, state, place })
    }

    /// Answers a request of the server, which must be as the client sent it; its peer is a [`Peer`](pointwork::Peer) in its
    /// extensions. It is polled on the calling thread first; if it has to wait, `done` gets its end.
    ///
    /// # Errors
    /// [`Forked`](crate::ErrorKind::Forked); [`Nested`](crate::ErrorKind::Nested).
    pub fn handle(&self, request: Request<Body>, done: impl FnOnce(Ended) + Send + 'static) -> Result<Progress, Error> {
        self.host.app()?;
        nested(|| match self.respond(request) {
            Either::Left(reply) => self.host.requests().drive(reply, || -> Done { Box::new(done) }),
            Either::Right(request) => Progress::NotOurs(request),
        })
    }

    /// Answers a request on the calling thread, which waits. [`Progress::Pending`] does not come. `None` if `waiting` gave up,
    /// which cancels the request.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub fn handle_blocking(&self, request: Request<Body>, waiting: Waiting<'_>) -> Result<Option<Progress>, Error> {
        self.host.app()?;
        nested(|| match self.respond(request) {
            Either::Left(reply) => wait(self.host.threads(), reply, waiting).map(Progress::Ready),
            Either::Right(request) => Some(Progress::NotOurs(request)),
        })
    }

    /// Whether the mount answers a request with that head, for servers that have to know before they touch its body. `None` if
    /// it does not.
    pub fn accept(&self, head: &Parts) -> Option<Accepted> {
        let found = self.find(head)?;
        let state = self.state.clone();
        Some(Accepted { state, found })
    }

    fn find(&self, head: &Parts) -> Option<Option<FoundRoute>> {
        self.state.accept(self.place, head.uri.path(), Some(head))
    }

    /// The reply, or the request if it is not ours.
    fn respond(&self, request: Request<Body>) -> Either<BoxFuture<'static, Response<Body>>, Request<Body>> {
        let (mut head, body) = at_this_depth(request).into_parts();
        let accepted = head.extensions.remove::<Accepted>();
        let accepted = accepted.filter(|accepted| Arc::ptr_eq(&accepted.state, &self.state));
        let found = accepted.map(|accepted| accepted.found).or_else(|| self.find(&head));
        let request = Request::from_parts(head, body);
        match found {
            Some(found) => Either::Left(Box::pin(self.state.respond(found, request))),
            None => Either::Right(request),
        }
    }
}
