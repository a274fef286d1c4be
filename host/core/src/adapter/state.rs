//! The state of one adapter.

use std::future::{Future, ready};
use std::io;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use futures_util::FutureExt as _;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};

use crate::exchange::finish::finish;
use crate::{Body, Error, ErrorKind, Reporter, Router, ServerOptions, Staged, error_reply};

/// The longest time that connections may take to close their sockets after they were cut.
pub const CUT_TIME: Duration = Duration::from_secs(1);

/// The state of one adapter: its options, the table that it published last, and its [`Reporter`].
///
/// `T` is what the adapter builds from a [`Router`]: the router itself, or a table in the form of its framework. A request
/// loads the table once and keeps it to its end (spec S1).
///
/// ```
/// use pointwork_core::ServerOptions;
/// use pointwork_core::adapter::AdapterState;
///
/// let state = AdapterState::new("mine", ServerOptions::default());
/// assert!(state.load().is_none(), "no table is published yet");
/// let staged = state.stage("a table");
/// assert!(state.load().is_none());
/// staged.publish();
/// assert_eq!(*state.load().unwrap(), "a table");
/// ```
#[derive(derive_more::Debug)]
pub struct AdapterState<T> {
    name: &'static str,
    options: ServerOptions,
    #[debug("{}", table.load().is_some())]
    table: ArcSwapOption<T>,
    #[debug(skip)]
    reporter: ArcSwapOption<Reporter>,
}

impl<T: Send + Sync + 'static> AdapterState<T> {
    /// The state of an adapter that is not attached yet. The options are [clamped](ServerOptions::clamped).
    pub fn new(name: &'static str, options: ServerOptions) -> Arc<Self> {
        Arc::new(Self {
            name,
            options: options.clamped(),
            table: ArcSwapOption::empty(),
            reporter: ArcSwapOption::empty(),
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

    /// Keeps the reporter: the body of [`Transport::attach`](crate::Transport::attach).
    pub fn attach(&self, reporter: Reporter) {
        self.reporter.store(Some(Arc::new(reporter)));
    }

    /// Holds a table ready: the body of [`Transport::stage`](crate::Transport::stage).
    pub fn stage(self: &Arc<Self>, table: T) -> Staged {
        let (state, table) = (self.clone(), Arc::new(table));
        Staged::new(move || state.table.store(Some(table)))
    }

    /// The table of this moment, `None` until the first is published.
    pub fn load(&self) -> Option<Arc<T>> {
        self.table.load_full()
    }

    /// Reports a failure of the adapter as `server:crashed` (spec E1); before it is attached, in the log alone.
    pub fn report(&self, message: impl Into<String>) {
        match &*self.reporter.load() {
            Some(reporter) => reporter.adapter_failed(message),
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
            "requests were still in flight {grace:?} after the signal to shut down, and are cut"
        );
    }
}

impl AdapterState<Router> {
    /// Answers one request on the router of this moment, which it keeps until the request ends (spec S1). The pauses of
    /// the request's body are limited by the options.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the handler.
    pub fn respond(&self, request: Request<Body>) -> impl Future<Output = Response<Body>> + Send + use<> {
        let Some(router) = self.load() else {
            return ready(not_ready(request.method())).left_future();
        };
        let request = request.map(|body| body.within(self.options.body_timeout, router.executor()));
        router.respond(None, request).right_future()
    }
}

/// The reply before the first table is published: 503.
pub fn not_ready(method: &Method) -> Response<Body> {
    let mut reply = error_reply(StatusCode::SERVICE_UNAVAILABLE, "the server has no routes yet");
    let headers = reply.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    finish(method, reply)
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
