//! A failed attempt to deliver an event.

use crate::Failure;

/// Why an attempt failed.
pub(in crate::events) struct Failed {
    pub(in crate::events) message: String,
    /// Whether it was reported as a crash.
    pub(in crate::events) is_reported: bool,
    /// Whether no other attempt can help.
    pub(super) is_final: bool,
}

impl Failed {
    pub(in crate::events) fn of(failure: &Failure, is_reported: bool) -> Self {
        Self {
            message: format!("{failure} ({}, code `{}`)", failure.status().as_u16(), failure.code()),
            is_reported,
            is_final: is_final(failure),
        }
    }

    pub(in crate::events) fn once(message: impl Into<String>) -> Self {
        let message = message.into();
        Self {
            message,
            is_reported: false,
            is_final: false,
        }
    }

    pub(super) fn for_good(message: impl Into<String>) -> Self {
        Self {
            is_final: true,
            ..Self::once(message)
        }
    }
}

/// Whether the failure says that the event itself is wrong.
fn is_final(failure: &Failure) -> bool {
    const MAY_PASS: [u16; 3] = [408, 425, 429];
    let status = failure.status();
    status.is_client_error() && !MAY_PASS.contains(&status.as_u16())
}
