//! Failures of the server itself, as told to the application.

use std::time::{SystemTime, UNIX_EPOCH};

use http::StatusCode;
use pointwork_events::Event;
use serde::{Deserialize, Serialize};

use crate::{Bus, Chain, Payload, RequestId};

/// The channel on which the server reports about itself. Only the server emits on it.
pub const SERVER_CHANNEL: &str = "server";

/// The event that carries a [`Crash`], within [`SERVER_CHANNEL`].
pub const CRASHED: &str = "crashed";

/// The payload of `server:crashed` (spec E1).
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub struct Crash {
    /// The adapter that served the request, or failed.
    #[serde(default)]
    pub adapter: Option<String>,
    /// What happened.
    pub kind: CrashKind,
    /// The whole story for the log: a trap's backtrace, a panic's message, an error with its causes.
    pub message: String,
    /// The module whose code ran.
    #[serde(default)]
    pub module: Option<String>,
    /// The route: method and full pattern.
    #[serde(default)]
    pub route: Option<String>,
    /// The request's id.
    #[serde(default)]
    pub request_id: Option<String>,
    /// The limit that was hit, by the name of its setting: `memory`, `deadline`, `body`, ….
    #[serde(default)]
    pub limit: Option<String>,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub time: u64,
}

/// The event `server:crashed` by its type, for whoever listens to it in native code (spec E2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCrashed;

impl Event for ServerCrashed {
    const NAME: &'static str = "server:crashed";
    type Payload = Crash;
    type Output = ();
}

/// What kind of failure a [`Crash`] is.
///
/// Read it as a word from an open list: kinds that this version does not know arrive as [`CrashKind::Other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CrashKind {
    /// A socket, a listener, a port in use.
    Adapter,
    /// A native handler or listener panicked.
    Panic,
    /// A guest trapped.
    Trap,
    /// A deadline passed.
    Deadline,
    /// There is no room, or none for a request of that size; [`Crash::limit`] names the limit. A guest that traps at a
    /// limit of its own is a [`Trap`](Self::Trap).
    Limit,
    /// The last holder of the context went without a reply (spec H7).
    NoReply,
    /// A handler's reply was refused: it was the second, or no valid reply.
    Reply,
    /// A listener failed on an emitted event.
    Listener,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

impl CrashKind {
    /// The status that the client gets when this ends its request.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Deadline => StatusCode::GATEWAY_TIMEOUT,
            Self::Limit => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// What the client is told: nothing that the log has to itself.
    pub(crate) fn public_message(self) -> &'static str {
        match self {
            Self::Deadline => "the request took too long",
            Self::Limit => "the server is busy",
            _ => "internal error",
        }
    }
}

impl Crash {
    /// A crash of this moment.
    pub fn new(kind: CrashKind, message: impl Into<String>) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            adapter: None,
            kind,
            message: message.into(),
            module: None,
            route: None,
            request_id: None,
            limit: None,
            time: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// The same, naming the limit that was hit: the name of its setting.
    #[must_use]
    pub fn at_limit(mut self, limit: impl Into<String>) -> Self {
        self.limit = Some(limit.into());
        self
    }

    /// The same, naming the module whose code ran.
    #[must_use]
    pub fn in_module(mut self, module: impl Into<String>) -> Self {
        self.module = Some(module.into());
        self
    }
}

/// Reports failures of one adapter: one line in the log and one `server:crashed` each, never an error at the route
/// (spec E1).
///
/// An adapter gets its reporter with [`Transport::attach`](crate::Transport::attach).
#[derive(Clone, Debug)]
pub struct Reporter {
    adapter: &'static str,
    bus: Bus,
}

impl Reporter {
    pub(crate) fn adapter(&self) -> &'static str {
        self.adapter
    }

    /// Reports a failure of the adapter itself: a socket error, a port in use.
    pub fn adapter_failed(&self, message: impl Into<String>) {
        self.report(Crash::new(CrashKind::Adapter, message));
    }

    /// Reports any crash; the adapter's name is filled in.
    pub fn report(&self, mut crash: Crash) {
        crash.adapter = Some(self.adapter.to_owned());
        self.bus.report(crash);
    }
}

impl Bus {
    /// A reporter for the adapter of that name.
    pub fn reporter(&self, adapter: &'static str) -> Reporter {
        Reporter {
            adapter,
            bus: self.clone(),
        }
    }

    /// Logs a crash and emits it as `server:crashed`.
    pub fn report(&self, crash: Crash) {
        self.log(&crash);
        self.announce::<ServerCrashed>(&crash);
    }

    /// Reports a crash of what runs at the end of a chain, with the request that began it. What a listener of the
    /// server's own events sets off stays in the log: it must not set off another such event.
    pub(crate) fn report_in(&self, chain: &Chain, request_id: Option<&RequestId>, mut crash: Crash) {
        crash.request_id = crash.request_id.or_else(|| request_id.map(RequestId::to_string));
        if let Some(request) = chain.request() {
            crash.adapter = crash.adapter.or_else(|| request.adapter.map(str::to_owned));
            crash.route = crash.route.or_else(|| Some(request.route.to_string()));
        }
        if chain.is_of_server() {
            self.log(&crash);
        } else {
            self.report(crash);
        }
    }

    fn log(&self, crash: &Crash) {
        tracing::error!(
            kind = ?crash.kind,
            adapter = crash.adapter,
            module = crash.module,
            route = crash.route,
            request_id = crash.request_id,
            limit = crash.limit,
            "{}",
            crash.message
        );
    }

    /// Emits an event of the server's own, on the channel `server`, to every listener that it has. An event that cannot
    /// be emitted is an error in the log.
    pub fn announce<E: Event>(&self, payload: &E::Payload)
    where
        E::Payload: Serialize,
    {
        let event = E::NAME.strip_prefix("server:").unwrap_or(E::NAME);
        match Payload::json(payload) {
            Ok(payload) => self.emit_as_server(event, payload),
            Err(failure) => tracing::error!("`{SERVER_CHANNEL}:{event}` was not emitted: {failure}"),
        }
    }
}
