//! Cases of the axum adapter alone.

mod client;
mod mounting;
mod parameters;

use pointwork_wire_tests::Case;

pub(crate) fn all() -> Vec<Case> {
    [client::all(), mounting::all(), parameters::all()].concat()
}
