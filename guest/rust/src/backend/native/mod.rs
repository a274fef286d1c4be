//! The stand-in for the host in native builds: requests and deliveries in memory, with the functions of the bindings.

#![cfg_attr(
    not(feature = "testing"),
    allow(dead_code, unused_imports, reason = "only `testing` makes requests and deliveries")
)]

pub(crate) mod blocking;
mod bus;
mod context;
mod delivery;
pub(crate) mod environment;
mod exchange;
pub(crate) mod waiting;

pub(crate) use bus::Bus;
pub(crate) use context::{NativeBodyReader, NativeBodyWriter, NativeContext, hand_over};
pub(crate) use delivery::{NativeDelivery, TestDelivery};
pub(crate) use exchange::{Exchange, SentReply, instant};

/// The log goes to standard error, where the test runner captures it for each test.
pub(crate) mod log {
    use crate::bindings::types::{Level, Property};

    #[allow(clippy::print_stderr, reason = "captured and shown by the test runner")]
    pub(crate) fn write(level: Level, target: &str, message: &str, fields: &[Property]) {
        let fields = fields.iter().map(|field| format!(" {}={}", field.name, field.value));
        eprintln!("{level:?} {target}: {message}{}", fields.collect::<String>());
    }
}
