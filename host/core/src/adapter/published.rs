//! What an adapter keeps between requests: the table that it published last, and where to report.

use std::fmt;
use std::io;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::{HeaderValue, Method, Response, StatusCode, header};

use crate::exchange::finish::finish;
use crate::{Body, Error, ErrorKind, Reporter, Staged, error_reply};

/// The state of one adapter: what it published last, in the form that its framework takes, and its [`Reporter`].
///
/// `T` is whatever the adapter builds from a [`Router`](crate::Router): the router itself, or that beside a table of the
/// framework's own. A request loads it once and keeps it to its end (spec S1).
///
/// ```
/// use std::sync::Arc;
/// use pointwork_core::Published;
///
/// let published = Arc::new(Published::new("mine"));
/// assert!(published.load().is_none(), "nobody is served before the first table");
/// let staged = published.stage("a table");
/// assert!(published.load().is_none());
/// staged.publish();
/// assert_eq!(*published.load().unwrap(), "a table");
/// ```
pub struct Published<T> {
    adapter: &'static str,
    table: ArcSwapOption<T>,
    reporter: ArcSwapOption<Reporter>,
}

impl<T: Send + Sync + 'static> Published<T> {
    /// The state of an adapter that is not attached yet.
    pub fn new(adapter: &'static str) -> Self {
        Self {
            adapter,
            table: ArcSwapOption::empty(),
            reporter: ArcSwapOption::empty(),
        }
    }

    /// Keeps the reporter: what [`Transport::attach`](crate::Transport::attach) does.
    pub fn attach(&self, reporter: Reporter) {
        self.reporter.store(Some(Arc::new(reporter)));
    }

    /// Holds a table ready: what [`Transport::stage`](crate::Transport::stage) returns.
    pub fn stage(self: &Arc<Self>, table: T) -> Staged {
        let (published, table) = (self.clone(), Arc::new(table));
        Staged::new(move || published.table.store(Some(table)))
    }

    /// The table of this moment, `None` until the first is published.
    pub fn load(&self) -> Option<Arc<T>> {
        self.table.load_full()
    }

    /// Reports a failure of the adapter as `server:crashed` (spec E1); before it is attached there is only the log.
    pub fn report(&self, message: impl Into<String>) {
        match &*self.reporter.load() {
            Some(reporter) => reporter.adapter_failed(message),
            None => tracing::error!(adapter = self.adapter, "{}", message.into()),
        }
    }

    /// Reports that an address cannot be listened on (spec E1), and makes the error that says what to do about it.
    pub fn bind_failed(&self, address: &str, cause: io::Error) -> Error {
        let message = describe(address, cause.kind());
        self.report(format!("{message}: {cause}"));
        Error::new(ErrorKind::Adapter, message).with_source(cause)
    }

    /// The answer while there is no table: 503.
    pub fn not_ready(method: &Method) -> Response<Body> {
        let mut reply = error_reply(StatusCode::SERVICE_UNAVAILABLE, "the server has no routes yet");
        reply
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        finish(method, reply)
    }
}

impl<T> fmt::Debug for Published<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Published")
            .field("adapter", &self.adapter)
            .field("has_table", &self.table.load().is_some())
            .finish_non_exhaustive()
    }
}

fn describe(name: &str, kind: io::ErrorKind) -> String {
    match kind {
        io::ErrorKind::AddrInUse => format!(
            "the address `{name}` is in use, expected a free one: stop the program that listens there, or choose another \
             port (port 0 picks a free one)"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "the address `{name}` is not allowed to this user, expected one that is: ports below 1024 often need \
             privileges, choose a higher one"
        ),
        io::ErrorKind::AddrNotAvailable => {
            format!(
                "the address `{name}` is not of this machine, expected one of its own, such as `127.0.0.1` or `0.0.0.0`"
            )
        }
        io::ErrorKind::InvalidInput => {
            format!("the address `{name}` does not parse, expected a host and a port, such as `127.0.0.1:8080`")
        }
        _ => format!("the address `{name}` cannot be listened on"),
    }
}
