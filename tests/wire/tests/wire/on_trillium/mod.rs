//! Cases of the trillium adapter alone.

mod client;
mod mounting;
mod native;

use pointwork_wire_tests::{ADAPTERS, Case, On};

pub(crate) fn all() -> Vec<Case> {
    [client::all(), mounting::all(), native::all()].concat()
}

fn on() -> On {
    ADAPTERS
        .into_iter()
        .find(|on| on.name == "trillium")
        .expect("adapter `trillium`")
}
