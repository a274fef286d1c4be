//! Waits that the program limits.

use std::ffi::c_void;
use std::time::Duration;

use pointwork_embed::{Error, Host, Waiting, within};

use crate::bytes::{PwDone, User};
use crate::error::{PwError, PwErrorKind};

/// The time that a program sets in milliseconds; 0 is none.
pub(crate) fn time_of(timeout_ms: u64) -> Option<Duration> {
    (timeout_ms > 0).then(|| Duration::from_millis(timeout_ms))
}

/// Waits for that time at most.
pub(crate) fn at_most(timeout_ms: u64) -> Waiting<'static> {
    Waiting::forever().at_most(time_of(timeout_ms))
}

/// Runs an operation: to its end without `done`, otherwise in the background.
pub(crate) fn run<T: Send + 'static>(
    host: &Host,
    operation: impl Future<Output = Result<T, Error>> + Send + 'static,
    timeout_ms: u64,
    done: PwDone,
    user: *mut c_void,
) -> Result<(), Box<PwError>> {
    let Some(done) = done else {
        return in_time(host.wait(operation, at_most(timeout_ms))?, timeout_ms).map(drop);
    };
    let user = User::new(user, None);
    host.run(within(time_of(timeout_ms), operation), move |result| {
        done(user.pointer(), result.err().map(Into::into));
    })?;
    Ok(())
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
