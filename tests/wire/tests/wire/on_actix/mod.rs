//! Cases of the adapter for actix alone.

mod ends;
mod mounting;
mod system;

use std::future::Future;

use pointwork_wire_tests::{ADAPTERS, Case, On};

/// Runs a case within a system of actix, which its application needs.
fn within_a_system(case: impl Future<Output = ()>) {
    actix_rt::System::new().block_on(case);
}

pub(crate) fn all() -> Vec<Case> {
    [ends::all(), mounting::all(), system::all()].concat()
}

fn on() -> On {
    ADAPTERS
        .into_iter()
        .find(|on| on.name == "actix")
        .expect("adapter `actix`")
}
