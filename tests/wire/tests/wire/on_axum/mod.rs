//! Cases of the adapter for axum alone.

mod mounting;
mod parameters;

use pointwork_wire_tests::Case;

pub(crate) fn all() -> Vec<Case> {
    [mounting::all(), parameters::all()].concat()
}
