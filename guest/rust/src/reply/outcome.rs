use super::{IntoReply, Reply};
use crate::failure::{Failure, IntoFailure};

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

    /// Adds a header to the reply or to the error, as [`Reply::header`] does.
    #[must_use]
    pub fn header(self, name: impl Into<String>, value: impl Into<Vec<u8>>) -> Self {
        match self {
            Self::Reply(reply) => Self::Reply(reply.header(name, value)),
            Self::Thrown(failure) => Self::Thrown(failure.header(name, value)),
            Self::Deferred => Self::Deferred,
        }
    }
}

/// The return value of a handler whose reply was sent before, or is sent by a listener (spec H6).
/// [`Context::hand_over`](crate::Context::hand_over) returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "return it from the handler"]
pub struct Deferred;

/// The return types of handlers (spec H1): every [`IntoReply`], and:
///
/// | type | outcome |
/// |---|---|
/// | `Option<T>` | `T`, or 404 for `None` |
/// | `Result<T, E>` | `T`, or the error; `E` is [`Failure`] or a type that converts into it |
/// | [`Failure`] | the error |
/// | `()`, the context, [`Deferred`] | no reply by the handler's return (spec H6) |
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    label = "expected a reply",
    note = "a handler returns text, bytes, `Json<…>`, a status, `(status, …)`, `(status, [headers], …)`, `Reply`, `Option` or `Result` of those, \
            `()`, or the context",
    note = "to reply with a serializable value as JSON, return `Json(…)`"
)]
pub trait IntoOutcome {
    /// Converts the value.
    #[track_caller]
    fn into_outcome(self) -> Outcome;
}

impl<T: IntoReply> IntoOutcome for T {
    fn into_outcome(self) -> Outcome {
        match self.into_reply() {
            Ok(reply) => Outcome::Reply(reply),
            Err(failure) => Outcome::Thrown(failure),
        }
    }
}

impl<T: IntoOutcome> IntoOutcome for Option<T> {
    fn into_outcome(self) -> Outcome {
        match self {
            Some(value) => value.into_outcome(),
            None => Outcome::Thrown(Failure::new(404_u16, "not found")),
        }
    }
}

impl<T: IntoOutcome, E: IntoFailure> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(value) => value.into_outcome(),
            Err(error) => Outcome::Thrown(error.into_failure()),
        }
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
    Outcome: outcome => outcome;
    Failure: failure => Outcome::Thrown(failure);
    (): _done => Outcome::Deferred;
    Deferred: _deferred => Outcome::Deferred;
}
