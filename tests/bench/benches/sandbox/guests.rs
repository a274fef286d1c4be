//! The modules of the sandbox benchmarks.

use std::fmt;

use pointwork_suite::guest::{Controller, End, Guest, Program};

/// The form of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    /// The synchronous form.
    Synchronous,
    /// The asynchronous form.
    Asynchronous,
}

impl Runs {
    pub(crate) const ALL: [Self; 2] = [Self::Synchronous, Self::Asynchronous];

    /// The component of a guest in this form.
    pub(crate) fn build(self, guest: Guest) -> Vec<u8> {
        match self {
            Self::Synchronous => guest,
            Self::Asynchronous => guest.asynchronous(),
        }
        .build()
    }
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Synchronous => "synchronous",
            Self::Asynchronous => "asynchronous",
        })
    }
}

/// A module whose routes all answer with their parameter.
pub(crate) fn good(prefix: &str) -> Guest {
    Guest::with(Controller::new("Good", prefix).get(":id", Program::new().param("id")))
}

/// A module with one route for each kind of crash, and one route that works.
pub(crate) fn bad(prefix: &str) -> Guest {
    Guest::with(
        Controller::new("Bad", prefix)
            .get("harmless", Program::text("harmless"))
            .get("trap", Program::new().ends(End::Trap))
            .get("hog", Program::new().ends(End::Hog))
            .get("loop", Program::new().ends(End::Loop))
            .get("overflow", Program::new().ends(End::Overflow)),
    )
}
