//! Cases of the axum adapter alone.

mod mounting;
mod parameters;

use pointwork_wire_tests::Case;

pub(crate) fn all() -> Vec<Case> {
    [mounting::all(), parameters::all()].concat()
}
