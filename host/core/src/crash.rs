//! A crash: a failure that the server reports to the application.

use std::time::{SystemTime, UNIX_EPOCH};

use pointwork_events::Event;
use serde::{Deserialize, Serialize};

use crate::{FailureCode, Fault};

/// The channel on which the server reports about itself. Only the server emits on it.
pub const SERVER_CHANNEL: &str = "server";

/// The event that carries a [`Crash`], within [`SERVER_CHANNEL`].
pub const CRASHED: &str = "crashed";

/// The payload of `server:crashed` (spec E1).
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub struct Crash {
    /// The adapter that served the request, or failed.
    pub adapter: Option<String>,
    /// The kind.
    pub kind: CrashKind,
    /// The details for the log: a trap's backtrace, a panic's message, an error with its causes.
    pub message: String,
    /// The module whose code ran.
    pub module: Option<String>,
    /// The route: method and full pattern.
    pub route: Option<String>,
    /// The request's id.
    pub request_id: Option<String>,
    /// The limit that was hit, by the name of its setting: `memory`, `deadline`, `body`, ….
    pub limit: Option<String>,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub time: u64,
}

/// The event `server:crashed` by its type, for listeners in native code (spec E2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerCrashed;

impl Event for ServerCrashed {
    const NAME: &'static str = "server:crashed";
    type Payload = Crash;
    type Output = ();
}

/// The kind of a [`Crash`].
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
    /// No room for the request; [`Crash::limit`] names the limit. A guest that traps at a limit of its own is a
    /// [`Trap`](Self::Trap).
    Limit,
    /// Code of a module, or a handler or listener in the language of a host such as Python, raised an exception that nothing caught,
    /// which ended its call. The instance goes on.
    Exception,
    /// The last holder of the context is gone and nobody replied (spec H7).
    NoReply,
    /// A handler's reply was refused: it was the second, or invalid.
    Reply,
    /// A listener failed on an emitted event.
    Listener,
    /// A kind that this version does not know.
    #[serde(other)]
    Other,
}

/// The message for a client whose request failed by a fault of the server.
pub(crate) const INTERNAL_ERROR: &str = "internal error";

impl CrashKind {
    /// The code of the failure that a client or a caller gets.
    pub fn code(self) -> FailureCode {
        match self {
            Self::Deadline => FailureCode::DEADLINE,
            Self::Limit => FailureCode::OVERLOADED,
            _ => FailureCode::FAILED,
        }
    }

    /// The message for the client, without any detail.
    pub(crate) fn public_message(self) -> &'static str {
        match self {
            Self::Deadline => "the request took too long",
            Self::Limit => "the server is busy",
            _ => INTERNAL_ERROR,
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

    /// The party that has to change something, so that the crash does not come again.
    pub fn fault(&self) -> Fault {
        match (self.kind, self.limit.as_deref()) {
            // The client chooses the size of its request.
            (CrashKind::Limit, Some("body" | "stream-body" | "json-body" | "json-values" | "headers")) => Fault::Client,
            // A handler that loops, or that crashed so often that its circuit breaker is open.
            (CrashKind::Deadline, Some("cpu" | "cleanup")) | (CrashKind::Limit, Some("breaker")) => Fault::Module,
            (CrashKind::Deadline | CrashKind::Limit | CrashKind::Adapter, _) => Fault::Host,
            _ => Fault::Module,
        }
    }

    /// The same, naming the module whose code ran.
    #[must_use]
    pub fn in_module(mut self, module: impl Into<String>) -> Self {
        self.module = Some(module.into());
        self
    }
}

/// The text of a panic, if it has one.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    #[test]
    fn the_failure_of_a_crash_has_the_party_of_its_cause() {
        let cases = [
            (CrashKind::Limit, Some("json-body"), Fault::Client),
            (CrashKind::Limit, Some("instances"), Fault::Host),
            (CrashKind::Limit, Some("breaker"), Fault::Module),
            (CrashKind::Deadline, Some("cpu"), Fault::Module),
            (CrashKind::Deadline, Some("deadline"), Fault::Host),
            (CrashKind::Trap, Some("memory"), Fault::Module),
            (CrashKind::Exception, None, Fault::Module),
        ];
        for (kind, limit, fault) in cases {
            let mut crash = Crash::new(kind, "");
            crash.limit = limit.map(str::to_owned);
            assert_eq!(crash.fault(), fault, "{kind:?} {limit:?}");
            // A failure of a client with status 5xx is a mistake of the module, so a refused size has a failure of its own.
            if fault != Fault::Client {
                assert_eq!(Failure::for_client(&crash).fault(), fault, "{kind:?} {limit:?}");
            }
        }
    }
}
