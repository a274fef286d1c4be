//! Cases of the adapter for trillium alone.

mod mounting;
mod native;

use pointwork_wire_tests::Case;

pub(crate) fn all() -> Vec<Case> {
    [mounting::all(), native::all()].concat()
}
