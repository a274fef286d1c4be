//! Cases of the actix adapter alone.

mod client;
mod ends;
mod mounting;
mod system;

use std::future::Future;

use pointwork_wire_tests::{ADAPTERS, Case, On};

/// Runs a case within an actix system, which the application needs.
fn within_a_system(case: impl Future<Output = ()>) {
    actix_rt::System::new().block_on(case);
}

pub(crate) fn all() -> Vec<Case> {
    [client::all(), ends::all(), mounting::all(), system::all()].concat()
}

fn on() -> On {
    ADAPTERS
        .into_iter()
        .find(|on| on.name == "actix")
        .expect("adapter `actix`")
}
