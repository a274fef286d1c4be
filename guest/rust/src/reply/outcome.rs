use super::{IntoReply, Reply, Throw};
use crate::{CallError, Context};

/// How a handler ended.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// With a reply. The host refuses and logs it if somebody replied before.
    Reply(Reply),
    /// With an error.
    Throw(Throw),
    /// Without either: the reply was sent, or is left to whoever holds the context now.
    Deferred,
}

/// Says that the reply was sent, or that somebody else will (spec H6); from
/// [`Context::hand_over`](crate::Context::hand_over).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "return it from the handler"]
pub struct Deferred;

/// What a handler may return (spec H1).
///
/// Next to every [`IntoReply`]:
///
/// | value | outcome |
/// |---|---|
/// | `Option<T>` | `T`, or 404 |
/// | `Result<T, E>` | either, `E` being a [`Throw`], a [`CallError`] or a reply as well |
/// | [`Throw`], [`CallError`] | the error |
/// | `()`, the context, [`Deferred`] | the reply is left open (spec H6) |
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    label = "expected a reply",
    note = "a reply is text, bytes, `Json<…>`, a status, `(status, …)`, `Reply`, `Option` or `Result` of those, `()`, or the context",
    note = "wrap a value that serde can write in `Json(…)`"
)]
pub trait IntoOutcome {
    /// Makes the outcome.
    fn into_outcome(self) -> Outcome;
}

impl<T: IntoReply> IntoOutcome for T {
    fn into_outcome(self) -> Outcome {
        match self.into_reply() {
            Ok(reply) => Outcome::Reply(reply),
            Err(throw) => Outcome::Throw(throw),
        }
    }
}

impl<T: IntoOutcome> IntoOutcome for Option<T> {
    fn into_outcome(self) -> Outcome {
        match self {
            Some(value) => value.into_outcome(),
            None => Throw::new(404_u16, "not found").into_outcome(),
        }
    }
}

impl<T: IntoOutcome, E: IntoOutcome> IntoOutcome for Result<T, E> {
    fn into_outcome(self) -> Outcome {
        match self {
            Ok(value) => value.into_outcome(),
            Err(error) => error.into_outcome(),
        }
    }
}

impl IntoOutcome for Outcome {
    fn into_outcome(self) -> Outcome {
        self
    }
}

impl IntoOutcome for Throw {
    fn into_outcome(self) -> Outcome {
        Outcome::Throw(self)
    }
}

impl IntoOutcome for CallError {
    fn into_outcome(self) -> Outcome {
        Outcome::Throw(self.into())
    }
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Outcome {
        Outcome::Deferred
    }
}

impl IntoOutcome for Deferred {
    fn into_outcome(self) -> Outcome {
        Outcome::Deferred
    }
}

impl<F> IntoOutcome for Context<F> {
    fn into_outcome(self) -> Outcome {
        Outcome::Deferred
    }
}

impl<F> IntoOutcome for &Context<F> {
    fn into_outcome(self) -> Outcome {
        Outcome::Deferred
    }
}
