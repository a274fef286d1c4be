//! The events of a test: listeners that are closures, and the events that were emitted.

use pointwork_events::{Event, IoEvent};
use serde::de::DeserializeOwned;

use crate::backend::native::Bus;
use crate::call_error::failure;
use crate::json::from_json;
use crate::payload;

/// Answers the event whenever it is called.
pub(super) fn answer<E: IoEvent>(bus: &mut Bus, listener: impl Fn(E::Payload) -> E::Output + 'static) {
    bus.listen(E::NAME, move |payload| {
        payload::decode(payload)
            .and_then(|payload| payload::encode(&listener(payload)).map_err(|error| error.to_string()))
            .map_err(|message| failure("bad-payload", 500, message))
    });
}

/// Fails the event whenever it is called.
pub(super) fn fail<E: IoEvent>(bus: &mut Bus, code: &str, status: u16, message: &str) {
    let failure = failure(code, status, message);
    bus.listen(E::NAME, move |_| Err(failure.clone()));
}

/// The payloads of all events `E` that were emitted, in order.
#[track_caller]
pub(super) fn emitted<E: Event>(bus: &Bus) -> Vec<E::Payload> {
    let payloads = bus.emitted(E::NAME);
    payloads.iter().map(|payload| read(E::NAME, &payload.data)).collect()
}

/// Reads JSON, and fails the test with `what` if that is not possible.
#[track_caller]
pub(super) fn read<T: DeserializeOwned>(what: &str, text: &[u8]) -> T {
    match from_json(text) {
        Ok(value) => value,
        Err(error) => panic!("{what} does not fit: {error}"),
    }
}
