//! Cases of the salvo adapter alone.

mod client;
mod middleware;
mod mounting;

use pointwork_wire_tests::Case;

pub(crate) fn all() -> Vec<Case> {
    [client::all(), middleware::all(), mounting::all()].concat()
}
