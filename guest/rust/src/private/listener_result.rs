//! The results of listeners.
//!
//! serde can serialize a `Result` too, so the type alone does not separate failures from values. The macro treats a
//! return type that is written as `Result` as one; the marker types recognize an alias of it.

use pointwork_events::Event;
use serde::Serialize;

use crate::failure::{Failure, IntoFailure};
use crate::payload::Payload;

#[derive(Debug)]
pub enum AsPayload {}
#[derive(Debug)]
pub enum AsValue {}
#[derive(Debug)]
pub struct AsResult<M>(std::marker::PhantomData<M>);

/// The result of a listener.
#[diagnostic::on_unimplemented(
    message = "a listener cannot return `{Self}`",
    label = "expected a type that implements `serde::Serialize`",
    note = "a listener returns `()`, a type that implements `serde::Serialize`, a `Payload`, or a `Result` of those \
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

impl<T: IntoAnswer<M>, E: IntoFailure, M> IntoAnswer<AsResult<M>> for Result<T, E> {
    fn into_answer(self) -> Result<Payload, Failure> {
        match self {
            Ok(value) => value.into_answer(),
            Err(error) => Err(error.into_failure()),
        }
    }
}

pub fn answer<T: IntoAnswer<M>, M>(value: T) -> Result<Payload, Failure> {
    value.into_answer()
}

pub fn answer_result<T: IntoAnswer<M>, E: IntoFailure, M>(result: Result<T, E>) -> Result<Payload, Failure> {
    result.into_answer()
}

/// The result of a listener of event `E`.
///
/// There is no custom label, since the compiler's own label names the type that the event map gives the result.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the result of event `{E}`",
    note = "with an event type in `#[on(…)]`, a listener returns the type that `events!` declares for the result, `()` \
            if it declares none, a `Payload`, or a `Result` of those"
)]
pub trait OutputOf<E, Marker> {}

#[diagnostic::do_not_recommend]
impl<E: Event> OutputOf<E, AsPayload> for Payload {}
impl<E: Event, T: OutputIs<E::Output>> OutputOf<E, AsValue> for T {}
#[diagnostic::do_not_recommend]
impl<E: Event, T: OutputOf<E, M>, X, M> OutputOf<E, AsResult<M>> for Result<T, X> {}

/// Implemented by `T` itself only.
pub trait OutputIs<T> {}

impl<T> OutputIs<T> for T {}

/// Compiles only if the value is a result of the event.
pub const fn check_output<E, T: OutputOf<E, M>, M>(_value: &T) {}

/// The same for a return type that is written as `Result`.
pub const fn check_result<E, T: OutputOf<E, M>, X, M>(_result: &Result<T, X>) {}

#[cfg(test)]
mod tests {
    use super::{answer, answer_result};
    use crate::{Failure, Payload};

    type Stock = Result<u32, Failure>;

    #[test]
    fn an_alias_of_a_result_is_a_result() {
        let (found, missing): (Stock, Stock) = (Ok(7), Err(Failure::new(404_u16, "no such product")));
        assert_eq!(answer(found).map(Payload::into_bytes), Ok(b"7".to_vec()));
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
