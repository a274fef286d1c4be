//! The five adapters on the wire: the common cases, and those of single frameworks.

mod on_actix;
mod on_axum;
mod on_hyper;
mod on_salvo;
mod on_trillium;

use std::process::ExitCode;

fn main() -> ExitCode {
    pointwork_wire_tests::main([
        ("actix", on_actix::all()),
        ("axum", on_axum::all()),
        ("hyper", on_hyper::all()),
        ("salvo", on_salvo::all()),
        ("trillium", on_trillium::all()),
    ])
}
