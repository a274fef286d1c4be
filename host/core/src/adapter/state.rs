//! The state of one adapter.

use std::future::{Future, ready};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::FutureExt as _;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};

use crate::exchange::finish::finish;
use crate::routing::Pattern;
use crate::{
    Body, Error, ErrorKind, Failure, FailureCode, FoundRoute, Reporter, RequestId, Router, ServerOptions, Staged,
    failure_reply,
};

/// The longest time that connections may take to close their sockets after they were cut.
pub const CUT_TIME: Duration = Duration::from_secs(1);

/// The state of one adapter: its options, its connection to an application, and the table that it published last.
///
/// `T` is what the adapter builds from a [`Router`] besides: a table in the form of its framework. A request loads the table
/// once and keeps it to its end (spec S1).
#[derive(derive_more::Debug)]
pub struct AdapterState<T = ()> {
    name: &'static str,
    options: ServerOptions,
    #[debug("{}", published.load().is_some())]
    published: ArcSwapOption<Published<T>>,
    #[debug(skip)]
    connection: ArcSwapOption<Connection>,
    is_mounted_below: AtomicBool,
    is_closed: AtomicBool,
}

/// The table that requests see.
#[derive(Debug)]
pub struct Published<T> {
    /// The core's router.
    pub router: Router,
    /// The table in the form of the framework.
    pub table: T,
}

/// Which requests of a server are the adapter's, as the adapter is mounted there (spec A9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// All: the server has no other routes.
    #[default]
    Everything,
    /// Those that a route matches by path and method. Every other request goes on untouched to the routes of the server.
    InFront,
    /// All below the prefix of the connection, 404 and 405 too. Every other request goes on untouched.
    Below,
}

struct Connection {
    reporter: Reporter,
    prefix: Pattern,
}

impl<T: Send + Sync + 'static> AdapterState<T> {
    /// The state of an adapter that is not connected yet. The options are [clamped](ServerOptions::clamped).
    pub fn new(name: &'static str, options: ServerOptions) -> Arc<Self> {
        Arc::new(Self {
            name,
            options: options.clamped(),
            published: ArcSwapOption::empty(),
            connection: ArcSwapOption::empty(),
            is_mounted_below: AtomicBool::default(),
            is_closed: AtomicBool::default(),
        })
    }

    /// The name of the adapter.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The options of the adapter.
    pub fn options(&self) -> &ServerOptions {
        &self.options
    }

    /// Keeps the reporter and the prefix: the body of [`Transport::attach`](crate::Transport::attach).
    ///
    /// # Errors
    /// [`Adapter`](ErrorKind::Adapter) if the adapter was connected before.
    pub fn attach(&self, reporter: Reporter, prefix: Pattern) -> Result<(), Error> {
        if self.published.load().is_some() || self.is_closed() {
            let name = self.name;
            let message = format!("this adapter `{name}` was connected before, expected a new one for each connection");
            return Err(Error::new(ErrorKind::Adapter, message));
        }
        self.connection.store(Some(Arc::new(Connection { reporter, prefix })));
        Ok(())
    }

    /// Holds a table ready: the body of [`Transport::stage`](crate::Transport::stage).
    pub fn stage(self: &Arc<Self>, router: &Router, table: T) -> Staged {
        let router = router.with_timeouts(self.options.body_timeout, self.options.write_timeout);
        let (state, published) = (self.clone(), Arc::new(Published { router, table }));
        Staged::new(move || state.published.store(Some(published)))
    }

    /// Drops the table for good: the body of [`Transport::close`](crate::Transport::close).
    pub fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.published.store(None);
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// The table of this moment: `None` until the first is published, and after [`close`](Self::close).
    pub fn load(&self) -> Option<Arc<Published<T>>> {
        self.published.load_full()
    }

    /// Answers one request of the adapter's: on the route that was found, or on the router of this moment, which it keeps until
    /// the request ends (spec S1).
    ///
    /// # Cancel safety
    /// Dropping the future cancels the handler.
    pub fn respond(
        &self,
        found: Option<FoundRoute>,
        request: Request<Body>,
    ) -> impl Future<Output = Response<Body>> + Send + use<T> {
        match (&*self.published.load(), found) {
            (Some(_), Some(found)) => found.respond(request).left_future().left_future(),
            (Some(published), None) => published.router.respond(None, request).right_future().left_future(),
            // The route may have been found before the end of the application, behind which nobody runs the guests.
            (None, _) => ready(self.unavailable(request.method(), request.headers())).right_future(),
        }
    }

    /// Whether a request is the adapter's: `None` if it goes on untouched. In front, the inner value is the route that
    /// matched; [`respond`](Self::respond) answers by it, also if a swap took the route away. Elsewhere there is none.
    ///
    /// The path and the head are as the client sent them. Below a prefix the path alone decides. `head` is `None` where it is
    /// not known yet, or where the framework accepted a head that is not valid: in front, no route matches such a request.
    pub fn accept(&self, place: Place, path: &str, head: Option<&Parts>) -> Option<Option<FoundRoute>> {
        match place {
            Place::Everything => Some(None),
            Place::InFront => self.published.load().as_ref()?.router.find_route(head?).map(Some),
            Place::Below => self.is_below_prefix(path).then_some(None),
        }
    }

    /// The prefix of the connection; `None` until there is one.
    pub fn prefix(&self) -> Option<Pattern> {
        Some(self.connection.load().as_ref()?.prefix.clone())
    }

    /// Whether a path is the prefix or below it, compared segment by segment as it was sent; false before the connection.
    fn is_below_prefix(&self, path: &str) -> bool {
        let connection = self.connection.load();
        let prefix = connection.as_ref().map(|connection| &connection.prefix);
        prefix.is_some_and(|prefix| is_below(prefix, path))
    }

    /// Notes that no request reaches the adapter but those below its prefix. Warns of each route elsewhere (spec A10).
    pub fn mount_below(&self) {
        self.is_mounted_below.store(true, Ordering::Relaxed);
        let (Some(published), Some(prefix)) = (self.load(), self.prefix()) else {
            return;
        };
        for record in published.router.records() {
            if Pattern::parse(&record.path).is_ok_and(|pattern| !self.covers_path(&pattern)) {
                tracing::warn!(
                    adapter = self.name,
                    "route {record} is not available: `{}` is mounted below `{prefix}`",
                    self.name
                );
            }
        }
    }

    /// Whether requests for a route reach the adapter: the body of [`Transport::covers_path`](crate::Transport::covers_path).
    pub fn covers_path(&self, pattern: &Pattern) -> bool {
        if !self.is_mounted_below.load(Ordering::Relaxed) {
            return true;
        }
        let connection = self.connection.load();
        let prefix = connection.as_ref().map(|connection| connection.prefix.segments());
        prefix.is_none_or(|prefix| pattern.segments().starts_with(prefix))
    }

    /// The reply without a table: 503. The request is known by its method and headers.
    pub fn unavailable(&self, method: &Method, headers: &HeaderMap) -> Response<Body> {
        let message = if self.is_closed() {
            "the application is closed"
        } else {
            "the server has no routes yet"
        };
        let failure = Failure::of(FailureCode::OVERLOADED, message);
        finish(method, &RequestId::from_headers(headers), failure_reply(&failure))
    }

    /// Reports a failure of the adapter as `server:crashed` (spec E1); before the connection, in the log alone.
    pub fn report(&self, message: impl Into<String>) {
        match &*self.connection.load() {
            Some(connection) => connection.reporter.adapter_failed(message),
            None => tracing::error!(adapter = self.name, "{}", message.into()),
        }
    }

    /// The result of listening on an address: its error names the address and the remedy, and is reported (spec E1).
    ///
    /// # Errors
    /// [`Adapter`](ErrorKind::Adapter) if `bound` is an error.
    pub fn bound<L>(&self, address: &str, bound: io::Result<L>) -> Result<L, Error> {
        bound.map_err(|cause| {
            let message = bind_error(address, cause.kind());
            self.report(format!("{message}: {cause}"));
            Error::new(ErrorKind::Adapter, message).with_source(cause)
        })
    }

    /// Logs a warning for each setting that the framework's server cannot keep: its name, and whether it is affected.
    pub fn warn_not_kept(&self, settings: &[(&'static str, bool)]) {
        for (setting, _) in settings.iter().filter(|(_, affected)| *affected) {
            tracing::warn!(
                adapter = self.name,
                setting,
                "the framework's server cannot keep this setting; the docs of the adapter's crate state the difference"
            );
        }
    }

    /// Logs a warning that connections are cut because the grace after the signal to shut down is over.
    pub fn warn_cut(&self, connections: usize) {
        let grace = self.options.shutdown_grace;
        tracing::warn!(
            adapter = self.name,
            connections,
            "connections were still open {grace:?} after the signal to shut down, and are cut"
        );
    }
}

/// Escapes are not decoded: a framework's own routes would not match them either.
fn is_below(prefix: &Pattern, path: &str) -> bool {
    if prefix.segments().is_empty() {
        return true;
    }
    let mut found = path.split('/').skip(1);
    prefix.canonical().split('/').skip(1).all(|expected| {
        found.next().is_some_and(|found| match expected.as_bytes() {
            [b':' | b'*', ..] => !found.is_empty(),
            _ => found == expected,
        })
    })
}

/// The reply to a head that an adapter refuses by itself, as servers write it: empty, and the last of its connection.
pub fn empty_refusal(status: StatusCode) -> Response<Body> {
    let mut reply = Response::new(Body::empty());
    *reply.status_mut() = status;
    let headers = reply.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    reply
}

fn bind_error(name: &str, kind: io::ErrorKind) -> String {
    match kind {
        io::ErrorKind::AddrInUse => format!(
            "the address `{name}` is in use, expected a free one: stop the program that listens there, or choose another \
             port (port 0 picks a free one)"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "this user may not listen on the address `{name}`, expected one that is allowed: ports below 1024 often need \
             privileges, choose a higher one"
        ),
        io::ErrorKind::AddrNotAvailable => format!(
            "the address `{name}` is not of this machine, expected one of its own, such as `127.0.0.1` or `0.0.0.0`"
        ),
        io::ErrorKind::InvalidInput => {
            format!("the address `{name}` does not parse, expected a host and a port, such as `127.0.0.1:8080`")
        }
        _ => format!("the address `{name}` cannot be listened on"),
    }
}
