//! Adapter A seen from the wire: the cases of every adapter, and its own.

mod mounting;
mod parameters;

use std::process::ExitCode;

use pointwork_axum::Axum;
use pointwork_core::{BoxFuture, Error, ServerOptions};
use pointwork_wire_tests::{Differences, Subject};
use tokio::net::TcpListener;

struct OnAxum;

impl Subject for OnAxum {
    type Adapter = Axum;

    const DIFFERENCES: Differences = Differences::NONE;

    fn adapter(options: ServerOptions) -> Axum {
        Axum::with_options(options)
    }

    async fn bind(axum: &Axum, address: String) -> Result<TcpListener, Error> {
        axum.bind(address).await
    }

    fn serve(axum: &Axum, listener: TcpListener, signal: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        Box::pin(axum.serve(listener).with_graceful_shutdown(signal))
    }
}

fn main() -> ExitCode {
    pointwork_wire_tests::main::<OnAxum>([mounting::all(), parameters::all()])
}
