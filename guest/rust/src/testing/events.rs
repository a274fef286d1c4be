//! The events of a test: answered by closures, and read back.

use pointwork_events::{Event, IoEvent};
use serde::de::DeserializeOwned;

use crate::backend::native::Bus;
use crate::bindings::types::{Failure, Payload};
use crate::payload;

/// Answers the event whenever it is called.
pub(super) fn answer<E: IoEvent>(bus: &mut Bus, listener: impl Fn(E::Payload) -> E::Output + 'static) {
    let answer = move |payload: &Payload| {
        let output = listener(payload::decode(payload)?);
        payload::encode(&output).map_err(|error| error.to_string())
    };
    bus.listen(
        E::NAME,
        Box::new(move |payload| {
            answer(payload).map_err(|message| Failure {
                code: "bad-payload".into(),
                status: 500,
                message,
            })
        }),
    );
}

/// Fails the event whenever it is called.
pub(super) fn fail<E: IoEvent>(bus: &mut Bus, code: &str, status: u16, message: &str) {
    let failure = Failure {
        code: code.into(),
        status,
        message: message.into(),
    };
    bus.listen(E::NAME, Box::new(move |_| Err(failure.clone())));
}

/// The payloads of all events `E` that were emitted, in order.
#[track_caller]
pub(super) fn emitted<E: Event>(bus: &Bus) -> Vec<E::Payload> {
    let payloads = bus.emitted(E::NAME);
    payloads.iter().map(|payload| read(E::NAME, &payload.data)).collect()
}

/// A value that a test expects to be there.
#[track_caller]
pub(super) fn read<T: DeserializeOwned>(what: &str, text: &[u8]) -> T {
    match payload::from_json(text) {
        Ok(value) => value,
        Err(error) => panic!("{what} does not fit: {error}"),
    }
}
