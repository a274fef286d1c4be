//! Cases of the adapter for salvo alone.

mod middleware;
mod mounting;
mod user;

use pointwork_wire_tests::Case;

pub(crate) fn all() -> Vec<Case> {
    [middleware::all(), mounting::all()].concat()
}
