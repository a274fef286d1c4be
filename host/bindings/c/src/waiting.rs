//! Waits that the program limits.

use std::time::Duration;

use pointwork_embed::Waiting;

use crate::error::{PwError, PwErrorKind};

/// The time that a program sets in milliseconds; 0 is none.
pub(crate) fn time_of(timeout_ms: u64) -> Option<Duration> {
    (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms))
}

/// Waits for that time at most.
pub(crate) fn at_most(timeout_ms: u64) -> Waiting<'static> {
    Waiting::forever().at_most(time_of(timeout_ms))
}

/// The result of such a wait. There is none if the time was over.
pub(crate) fn in_time<T>(result: Option<T>, timeout_ms: u64) -> Result<T, Box<PwError>> {
    result.ok_or_else(|| {
        PwError::new(
            PwErrorKind::TimedOut,
            format!("the operation did not end within {timeout_ms} ms"),
        )
    })
}
