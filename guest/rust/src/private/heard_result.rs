//! What a listener returns, on its way to the caller.
//!
//! serde can write a `Result` as well, so types alone do not tell a failure from a value. The macro tells them by name:
//! what is written as `Result` is one. The others may still be an alias of it, which the marker types find.

use pointwork_events::Event;
use serde::Serialize;

use crate::{Failure, Payload};

#[derive(Debug)]
pub enum AsPayload {}
#[derive(Debug)]
pub enum AsValue {}
#[derive(Debug)]
pub struct AsResult<M>(std::marker::PhantomData<M>);

/// What a listener may return.
#[diagnostic::on_unimplemented(
    message = "a listener cannot return `{Self}`",
    label = "expected a value that serde can write",
    note = "a listener returns `()`, a value that serde can write (`serde::Serialize`), a `Payload`, or a `Result` of those \
            whose error converts into `Failure`"
)]
pub trait IntoAnswer<Marker> {
    fn into_answer(self) -> Result<Payload, Failure>;
}

impl IntoAnswer<AsPayload> for Payload {
    fn into_answer(self) -> Result<Payload, Failure> {
        Ok(self)
    }
}

impl<T: Serialize> IntoAnswer<AsValue> for T {
    fn into_answer(self) -> Result<Payload, Failure> {
        Payload::json(&self)
    }
}

impl<T: IntoAnswer<M>, E: Into<Failure>, M> IntoAnswer<AsResult<M>> for Result<T, E> {
    fn into_answer(self) -> Result<Payload, Failure> {
        match self {
            Ok(value) => value.into_answer(),
            Err(error) => Err(error.into()),
        }
    }
}

pub fn answer<T: IntoAnswer<M>, M>(value: T) -> Result<Payload, Failure> {
    value.into_answer()
}

pub fn answer_result<T: IntoAnswer<M>, E: Into<Failure>, M>(result: Result<T, E>) -> Result<Payload, Failure> {
    result.into_answer()
}

/// What a listener of event `E` may return.
///
/// No label of its own: the compiler's names the type that the event map gives the result.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the result of event `{E}`",
    note = "a listener that is bound by event type returns the type that `events!` gives the result, `()` if it gives \
            none, a `Payload`, or a `Result` of those"
)]
pub trait OutputOf<E, Marker> {}

#[diagnostic::do_not_recommend]
impl<E: Event> OutputOf<E, AsPayload> for Payload {}
impl<E: Event, T: OutputIs<E::Output>> OutputOf<E, AsValue> for T {}
#[diagnostic::do_not_recommend]
impl<E: Event, T: OutputOf<E, M>, X, M> OutputOf<E, AsResult<M>> for Result<T, X> {}

/// The same type.
pub trait OutputIs<T> {}

impl<T> OutputIs<T> for T {}

/// Compiles only if the value fits the event.
pub const fn check_output<E, T: OutputOf<E, M>, M>(_value: &T) {}

/// The same for what is written as a `Result`.
pub const fn check_result<E, T: OutputOf<E, M>, X, M>(_result: &Result<T, X>) {}

#[cfg(test)]
mod tests {
    use super::{answer, answer_result};
    use crate::{Failure, Payload};

    type Stock = Result<u32, Failure>;

    #[test]
    fn an_alias_of_a_result_is_a_result() {
        let (found, missing): (Stock, Stock) = (Ok(7), Err(Failure::new(404_u16, "no such product")));
        assert_eq!(answer(found).map(Payload::into_data), Ok(b"7".to_vec()));
        assert_eq!(answer(missing), Err(Failure::new(404_u16, "no such product")));
    }

    #[test]
    fn a_result_is_no_value_even_if_serde_can_write_it() {
        #[derive(serde::Serialize)]
        struct Missing;

        impl From<Missing> for Failure {
            fn from(_: Missing) -> Self {
                Self::new(404_u16, "no such product")
            }
        }

        assert_eq!(
            answer_result(Err::<u32, _>(Missing)),
            Err(Failure::new(404_u16, "no such product"))
        );
    }
}
