//! Cases of the hyper adapter alone.

mod mounting;

use pointwork_wire_tests::Case;

pub(crate) fn all() -> Vec<Case> {
    [mounting::all()].concat()
}
