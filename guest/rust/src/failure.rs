use std::borrow::Cow;
use std::error::Error;
use std::fmt;

use crate::bindings::types;
use crate::call_error::CallError;
use crate::throw::Throw;

/// The error of a listener. The caller of the event gets it as a [`CallError`].
///
/// `?` converts a [`CallError`] and a [`Throw`] into it. Implement `From` to convert errors of your own, as for [`Throw`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "it reaches the caller only if the listener returns it"]
pub struct Failure {
    /// The kind of failure, for the caller to match on; `failed` if there is no specific one.
    pub code: Cow<'static, str>,
    /// The HTTP status for a reply with this failure: 400 to 599. The caller gets 500 for any other.
    pub status: u16,
    /// One sentence for humans. Clients may read it if the status is below 500.
    pub message: String,
}

impl Failure {
    /// A failure with the code `failed`. A `status` other than 400 to 599 becomes 500.
    pub fn new(status: impl Into<u16>, message: impl Into<String>) -> Self {
        Self {
            code: "failed".into(),
            status: error_status(status.into()),
            message: message.into(),
        }
    }

    /// Sets the code.
    pub fn code(mut self, code: impl Into<Cow<'static, str>>) -> Self {
        self.code = code.into();
        self
    }

    /// The payload does not fit the listener's type.
    pub(crate) fn bad_payload(message: String) -> Self {
        Self::new(400_u16, message).code("bad-payload")
    }
}

/// The status, or 500 if it is not the status of an error.
fn error_status(status: u16) -> u16 {
    if (400..=599).contains(&status) { status } else { 500 }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed with `{}` ({}): {}", self.code, self.status, self.message)
    }
}

impl Error for Failure {}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        Self::new(error.status(), error.message()).code(error.code().to_owned())
    }
}

impl From<Throw> for Failure {
    fn from(throw: Throw) -> Self {
        let thrown = types::Thrown::from(throw);
        Self::new(thrown.status, thrown.message)
    }
}

impl From<Failure> for types::Failure {
    fn from(failure: Failure) -> Self {
        Self {
            code: failure.code.into_owned(),
            status: error_status(failure.status),
            message: failure.message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CallError, Failure, Throw, types};
    use crate::call_error::failure;

    #[test]
    fn a_failed_call_keeps_code_status_and_message() {
        let failure = failure("unknown-event", 404, "nobody listens");
        let failure = Failure::from(CallError::of("db:all")(failure));
        assert_eq!(failure, Failure::new(404_u16, "nobody listens").code("unknown-event"));
    }

    #[test]
    fn a_thrown_error_keeps_status_and_message() {
        let failure = Failure::from(Throw::new(409_u16, "out of stock"));
        assert_eq!(failure, Failure::new(409_u16, "out of stock"));
        assert_eq!(failure.code, "failed");
    }

    #[test]
    fn a_status_that_is_no_error_becomes_500() {
        for status in [0_u16, 200, 399, 600] {
            assert_eq!(Failure::new(status, "odd").status, 500);
        }
        let mut failure = Failure::new(400_u16, "odd");
        failure.status = 204;
        assert_eq!(types::Failure::from(failure).status, 500);
    }
}
