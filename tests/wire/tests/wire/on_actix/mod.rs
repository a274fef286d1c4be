//! Cases of the adapter for actix alone.

mod mounting;
mod system;

use std::future::Future;

use pointwork_wire_tests::Case;

/// Runs a case within a system of actix, which its application needs.
fn within_a_system(case: impl Future<Output = ()>) {
    actix_rt::System::new().block_on(case);
}

pub(crate) fn all() -> Vec<Case> {
    [mounting::all(), system::all()].concat()
}
