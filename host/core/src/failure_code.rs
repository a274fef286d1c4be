//! The kinds of failures, and the consequences of each kind.
//!
//! The code of a failure says what went wrong. Everything that follows from the code stands in one table,
//! [`FailureCode::consequences`]: the HTTP status, the party at fault, whether a retry helps, and whether the client of a request
//! may read the message. Code that meets a fault chooses the code and writes the message, and never chooses a status or
//! `Retry-After`.
//!
//! The party at fault decides the level of the line in the log, and is a label of the metric that counts failures, see
//! [`FailureCounts`](crate::failure_counts).

use std::borrow::Cow;
use std::time::Duration;

use http::StatusCode;

/// The kind of a failure: a word from an open list, so that a new word breaks no module that was built before it.
///
/// The words are those of the contract's `types.failure`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, derive_more::Display)]
pub struct FailureCode(Cow<'static, str>);

impl FailureCode {
    /// No listener has the event's name.
    pub const UNKNOWN_EVENT: Self = Self(Cow::Borrowed("unknown-event"));
    /// Two channels listen to the plain name.
    pub const AMBIGUOUS_EVENT: Self = Self(Cow::Borrowed("ambiguous-event"));
    /// A payload or a body is not of the declared type.
    pub const BAD_PAYLOAD: Self = Self(Cow::Borrowed("bad-payload"));
    /// The request has its reply.
    pub const ALREADY_REPLIED: Self = Self(Cow::Borrowed("already-replied"));
    /// A status or a header that cannot stand in a reply.
    pub const INVALID_REPLY: Self = Self(Cow::Borrowed("invalid-reply"));
    /// A body or a payload is over its limit.
    pub const TOO_LARGE: Self = Self(Cow::Borrowed("too-large"));
    /// A chain of calls is over its depth, as one that turns in a circle is in the end.
    pub const TOO_DEEP: Self = Self(Cow::Borrowed("too-deep"));
    /// The deadline passed.
    pub const DEADLINE: Self = Self(Cow::Borrowed("deadline"));
    /// A bounded queue or pool is full.
    pub const OVERLOADED: Self = Self(Cow::Borrowed("overloaded"));
    /// A change conflicts with the state of a store, such as a key that exists already.
    pub const CONFLICT: Self = Self(Cow::Borrowed("conflict"));
    /// The other end is closed: the client went away, or a body was taken before.
    pub const GONE: Self = Self(Cow::Borrowed("gone"));
    /// The store of a durable channel did not confirm an event.
    pub const UNRECORDED: Self = Self(Cow::Borrowed("unrecorded"));
    /// A context was to be handed over to a durable channel.
    pub const NOT_DURABLE: Self = Self(Cow::Borrowed("not-durable"));
    /// A context was to be handed over to a channel whose listeners are in another process.
    pub const NOT_REMOTE: Self = Self(Cow::Borrowed("not-remote"));
    /// No process that listens to the channel can be reached.
    pub const UNREACHABLE: Self = Self(Cow::Borrowed("unreachable"));
    /// Anything else.
    pub const FAILED: Self = Self(Cow::Borrowed("failed"));

    /// A code by its word; for codes that come from a guest or from an application.
    pub fn new(word: impl Into<Cow<'static, str>>) -> Self {
        Self(word.into())
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What follows from the code. A code that is not in the list has the consequences of [`FAILED`](Self::FAILED).
    pub fn consequences(&self) -> Consequences {
        use Fault::{Channel, Client, Host, Module};

        const NO_RETRY: Option<Duration> = None;
        const SOON: Option<Duration> = Some(Duration::from_secs(1));
        let is_logged_where_it_occurs = matches!(self.as_str(), "overloaded" | "unrecorded");
        let (status, fault, retry_after, is_shown_after_call) = match self.as_str() {
            "bad-payload" => (StatusCode::BAD_REQUEST, Client, NO_RETRY, false),
            "too-large" => (StatusCode::PAYLOAD_TOO_LARGE, Client, NO_RETRY, true),
            "conflict" => (StatusCode::CONFLICT, Client, NO_RETRY, true),
            "unknown-event" | "ambiguous-event" | "too-deep" | "already-replied" | "invalid-reply" | "not-durable"
            | "not-remote" => (StatusCode::INTERNAL_SERVER_ERROR, Module, NO_RETRY, false),
            "gone" => (StatusCode::INTERNAL_SERVER_ERROR, Host, NO_RETRY, false),
            "deadline" => (StatusCode::GATEWAY_TIMEOUT, Host, NO_RETRY, true),
            "overloaded" | "unrecorded" => (StatusCode::SERVICE_UNAVAILABLE, Host, SOON, true),
            "unreachable" => (StatusCode::SERVICE_UNAVAILABLE, Channel, SOON, true),
            _ => (StatusCode::INTERNAL_SERVER_ERROR, Module, NO_RETRY, true),
        };
        Consequences {
            status,
            fault,
            retry_after,
            is_shown_after_call,
            is_logged_where_it_occurs,
        }
    }
}

/// What follows from the code of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Consequences {
    /// The status that the client gets if the failure ends a request.
    pub status: StatusCode,
    /// The party that has to change something, so that the failure does not come again.
    pub fault: Fault,
    /// The time after which a retry may succeed, for `Retry-After`; `None` if a retry does not help.
    pub retry_after: Option<Duration>,
    /// Whether the client gets the message if a call of the handler fails with this code. A mistake between a module and a
    /// channel is none of the client's business: its client gets a general sentence with status 500, and the log has the message.
    pub is_shown_after_call: bool,
    /// Whether the code that meets the fault writes the line in the log, one for many refusals. The end of the request then adds
    /// none.
    pub is_logged_where_it_occurs: bool,
}

/// The party whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fault {
    /// The client sent something wrong, or asks for something that does not exist.
    Client,
    /// The code of a module, or a native handler or listener, has a mistake or failed.
    Module,
    /// The listeners of the channel cannot be reached.
    Channel,
    /// The server has no room or no time.
    Host,
}

impl Fault {
    /// Every party, in the order of their declaration.
    pub(crate) const ALL: [Self; 4] = [Self::Client, Self::Module, Self::Channel, Self::Host];

    /// The party as a word in lower case, such as `client`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Module => "module",
            Self::Channel => "channel",
            Self::Host => "host",
        }
    }
}

/// Writes a line to the log at the level of the party at fault: `debug` for a client, `warn` for a module or a channel, and
/// `error` for the host.
macro_rules! log_by_fault {
    ($fault:expr, $($line:tt)*) => {
        match $fault {
            $crate::Fault::Client => tracing::debug!($($line)*),
            $crate::Fault::Module | $crate::Fault::Channel => tracing::warn!($($line)*),
            $crate::Fault::Host => tracing::error!($($line)*),
        }
    };
}
pub(crate) use log_by_fault;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_retry_helps_exactly_where_the_service_is_unavailable() {
        let codes = [
            FailureCode::UNKNOWN_EVENT,
            FailureCode::AMBIGUOUS_EVENT,
            FailureCode::BAD_PAYLOAD,
            FailureCode::ALREADY_REPLIED,
            FailureCode::INVALID_REPLY,
            FailureCode::TOO_LARGE,
            FailureCode::TOO_DEEP,
            FailureCode::DEADLINE,
            FailureCode::OVERLOADED,
            FailureCode::CONFLICT,
            FailureCode::GONE,
            FailureCode::UNRECORDED,
            FailureCode::NOT_DURABLE,
            FailureCode::NOT_REMOTE,
            FailureCode::UNREACHABLE,
            FailureCode::FAILED,
            FailureCode::new("of-an-application"),
        ];
        for code in codes {
            let Consequences {
                status, retry_after, ..
            } = code.consequences();
            assert_eq!(
                status == StatusCode::SERVICE_UNAVAILABLE,
                retry_after.is_some(),
                "{code}"
            );
        }
    }
}
