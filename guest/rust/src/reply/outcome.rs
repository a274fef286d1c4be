use std::future::ready;

use http::StatusCode;

use super::{IntoReply, Reply};
use crate::failure::{Failure, IntoFailure};
use crate::request::Request;

/// The result of a handler.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A reply. The host refuses and logs it if the request has a reply already.
    Reply(Reply),
    /// An error.
    Thrown(Failure),
    /// No reply: it was sent before, or another holder of the context sends it.
    Deferred,
}

impl Outcome {
    /// The status of the reply or of the error; `None` without one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Reply(reply) => Some(reply.raw.status),
            Self::Thrown(failure) => Some(failure.status()),
            Self::Deferred => None,
        }
    }

    /// Adds a header to the reply or to the error, as [`Reply::header`] does. A wrong header makes it the error
    /// `invalid-reply`.
    #[must_use]
    #[track_caller]
    pub fn header(self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        match self {
            Self::Reply(reply) => reply.header(name, value).into_outcome(),
            Self::Thrown(failure) => Self::Thrown(failure.header(name, value)),
            Self::Deferred => Self::Deferred,
        }
    }
}

/// The return value of a handler whose reply was sent before, or is sent by a listener.
/// [`Context::hand_over`](crate::Context::hand_over) returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "return it from the handler"]
pub struct Deferred;

/// The return types of handlers: every [`IntoReply`], and:
///
/// | type | outcome |
/// |---|---|
/// | `Option<T>` | `T`, or 404 for `None` |
/// | [`Streamed`](crate::Streamed) | a body from an iterator or a stream |
/// | `Result<T, E>` | `T`, or the error; `E` is [`Failure`] or a type that converts into it |
/// | [`Failure`] | the error |
/// | `()`, the context, [`Deferred`] | no reply by the handler's return |
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    label = "expected a reply",
    note = "a handler returns text, bytes, `Json<…>`, a status, `(status, …)`, `(status, [headers], …)`, `Reply`, `Option` or `Result` of those, \
            `()`, or the context",
    note = "to reply with a serializable value as JSON, return `Json(…)`"
)]
pub trait IntoOutcome: Sized {
    /// Whether the SDK needs the context after the handler returned.
    #[doc(hidden)]
    const KEEPS_CONTEXT: bool = false;

    /// Whether it has no reply: without a context, nobody replies.
    #[doc(hidden)]
    const IS_NOTHING: bool = false;

    /// Converts the value.
    #[track_caller]
    fn into_outcome(self) -> Outcome;

    /// Converts the value in the synchronous form of a module. `request` is that of the handler, unless it took the context.
    #[doc(hidden)]
    #[track_caller]
    fn outcome_now(self, _request: Option<&Request>) -> Outcome {
        self.into_outcome()
    }

    /// Converts the value in the asynchronous form of a module.
    #[doc(hidden)]
    #[track_caller]
    fn outcome(self, _request: Option<&Request>) -> impl Future<Output = Outcome> {
        ready(self.into_outcome())
    }
}

impl<T: IntoReply> IntoOutcome for T {
    fn into_outcome(self) -> Outcome {
        checked(self.into_reply())
    }
}

impl<T: IntoOutcome> IntoOutcome for Option<T> {
    const KEEPS_CONTEXT: bool = T::KEEPS_CONTEXT;
    const IS_NOTHING: bool = T::IS_NOTHING;

    fn outcome_now(self, request: Option<&Request>) -> Outcome {
        match self {
            Some(value) => value.outcome_now(request),
            None => self.into_outcome(),
        }
    }

    fn outcome(self, request: Option<&Request>) -> impl Future<Output = Outcome> {
        // Not within the future, which would be the caller of a wrong header.
        let converted = match self {
            Some(value) => Ok(value.outcome(request)),
            None => Err(self.into_outcome()),
        };
        either(converted)
    }

    fn into_outcome(self) -> Outcome {
        match self {
            Some(value) => value.into_outcome(),
            None => Outcome::Thrown(StatusCode::NOT_FOUND.into()),
        }
    }
}

impl<T: IntoOutcome, E: IntoFailure> IntoOutcome for Result<T, E> {
    const KEEPS_CONTEXT: bool = T::KEEPS_CONTEXT;
    const IS_NOTHING: bool = T::IS_NOTHING;

    fn outcome_now(self, request: Option<&Request>) -> Outcome {
        match self {
            Ok(value) => value.outcome_now(request),
            Err(_) => self.into_outcome(),
        }
    }

    fn outcome(self, request: Option<&Request>) -> impl Future<Output = Outcome> {
        let converted = match self {
            Ok(value) => Ok(value.outcome(request)),
            Err(_) => Err(self.into_outcome()),
        };
        either(converted)
    }

    fn into_outcome(self) -> Outcome {
        match self {
            Ok(value) => value.into_outcome(),
            Err(error) => Outcome::Thrown(error.into_failure()),
        }
    }
}

/// The outcome of a reply. One with a wrong header is an error, for after-hooks and `errors:` of the module.
fn checked(reply: Result<Reply, Failure>) -> Outcome {
    match reply {
        Ok(Reply {
            invalid: Some(invalid), ..
        }) => Outcome::Thrown(*invalid),
        Ok(reply) => Outcome::Reply(reply),
        Err(failure) => Outcome::Thrown(failure),
    }
}

/// An outcome that is made, or being made.
async fn either(converted: Result<impl Future<Output = Outcome>, Outcome>) -> Outcome {
    match converted {
        Ok(future) => future.await,
        Err(outcome) => outcome,
    }
}

macro_rules! into_outcome {
    ($($ty:ty: $value:ident => $outcome:expr;)*) => {$(
        impl IntoOutcome for $ty {
            fn into_outcome(self) -> Outcome {
                let $value = self;
                $outcome
            }
        }
    )*};
}

into_outcome! {
    Outcome: outcome => match outcome {
        Outcome::Reply(reply) => checked(Ok(reply)),
        other => other,
    };
    Failure: failure => Outcome::Thrown(failure);
}

macro_rules! nothing {
    ($($ty:ty)*) => {$(
        impl IntoOutcome for $ty {
            const IS_NOTHING: bool = true;

            fn into_outcome(self) -> Outcome {
                Outcome::Deferred
            }
        }
    )*};
}

nothing! { () Deferred }
