//! The events of a test: listeners that are closures, and the events that were emitted.

use pointwork_events::json::from_json;
use pointwork_events::{Event, EventData, IoEvent, Payload, PayloadError};
use serde::de::DeserializeOwned;

use crate::backend::native::Bus;
use crate::bindings::types;
use crate::failure::Failure;

/// Declares the functions that set the listeners of a test, whose bus is in this field of this field, and its variables.
macro_rules! listeners {
    ($field:tt $bus:ident) => {
        /// Sets the listener of an event that the code under test calls. A call without a listener fails with
        /// `unknown-event`.
        pub fn on<E: $crate::IoEvent>(mut self, listener: impl Fn(E::Payload) -> E::Output + 'static) -> Self {
            $crate::testing::events::answer::<E>(&mut self.$field.$bus, listener);
            self
        }

        /// Sets a listener that fails for some payloads.
        pub fn try_on<E: $crate::IoEvent>(
            mut self,
            listener: impl Fn(E::Payload) -> Result<E::Output, $crate::Failure> + 'static,
        ) -> Self {
            $crate::testing::events::try_answer::<E>(&mut self.$field.$bus, listener);
            self
        }

        /// Sets a listener that fails.
        pub fn fail<E: $crate::IoEvent>(mut self, failure: $crate::Failure) -> Self {
            let failure = $crate::bindings::types::Failure::from(failure);
            self.$field.$bus.listen(E::NAME, move |_| Err(failure.clone()));
            self
        }

        /// Sets a variable of the module for [`Variables::read`](crate::Variables::read); without it there are none.
        /// `std::env::var` has the variables of the test's process.
        pub fn variable(mut self, name: &str, value: &str) -> Self {
            self.$field.variables.push($crate::bindings::types::Property {
                name: name.into(),
                value: value.into(),
            });
            self
        }
    };
}

pub(super) use listeners;

pub(super) fn answer<E: IoEvent>(bus: &mut Bus, listener: impl Fn(E::Payload) -> E::Output + 'static) {
    try_answer::<E>(bus, move |payload| Ok(listener(payload)));
}

pub(super) fn try_answer<E: IoEvent>(
    bus: &mut Bus,
    listener: impl Fn(E::Payload) -> Result<E::Output, Failure> + 'static,
) {
    let bad = |error: PayloadError| Failure::with_code("bad-payload", 500_u16, error.to_string());
    bus.listen(E::NAME, move |payload| {
        let payload = E::Payload::from_payload(payload.clone().into()).map_err(bad)?;
        let answer = listener(payload)?.into_payload();
        Ok(answer.map_err(bad)?.into())
    });
}

/// The payloads of the events `E` that were called or emitted.
#[track_caller]
pub(super) fn payloads<E: Event>(sent: Vec<types::Payload>) -> Vec<E::Payload> {
    let read = |payload: types::Payload| data(E::NAME, payload.into());
    sent.into_iter().map(read).collect()
}

/// Reads a payload, and fails the test with `what` if that is not possible.
#[track_caller]
pub(super) fn data<T: EventData>(what: &str, payload: Payload) -> T {
    match T::from_payload(payload) {
        Ok(value) => value,
        Err(error) => panic!("{what} does not fit: {error}"),
    }
}

/// Reads JSON, and fails the test with `what` if that is not possible.
#[track_caller]
pub(super) fn read<T: DeserializeOwned>(what: &str, text: &[u8]) -> T {
    match from_json(text) {
        Ok(value) => value,
        Err(error) => panic!("{what} does not fit: {error}"),
    }
}
