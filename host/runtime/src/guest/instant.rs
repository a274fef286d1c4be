//! Points in time, as the contract has them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::guest::bindings::context;

/// A point in time by the system's clock; one before 1970 becomes the beginning of 1970.
pub(crate) fn at(time: SystemTime) -> context::Instant {
    let since: Duration = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    context::Instant {
        seconds: since.as_secs(),
        nanoseconds: since.subsec_nanos(),
    }
}

/// The same point in time by the system's clock.
#[expect(
    clippy::disallowed_methods,
    reason = "a point in time is compared with the clock of the system"
)]
pub(crate) fn by_system_clock(instant: Instant) -> SystemTime {
    let (now, here) = (SystemTime::now(), Instant::now());
    let time = match instant.checked_duration_since(here) {
        Some(left) => now.checked_add(left),
        None => now.checked_sub(here.duration_since(instant)),
    };
    time.unwrap_or(now)
}
