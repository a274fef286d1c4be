//! Adapter E seen from the wire: the cases of every adapter, and its own.

mod mounting;

use std::process::ExitCode;

use pointwork_core::{BoxFuture, Error, ServerOptions};
use pointwork_hyper::Hyper;
use pointwork_wire_tests::{Differences, Subject};
use tokio::net::TcpListener;

struct OnHyper;

impl Subject for OnHyper {
    type Adapter = Hyper;

    const DIFFERENCES: Differences = Differences::NONE;

    fn adapter(options: ServerOptions) -> Hyper {
        Hyper::with_options(options)
    }

    async fn bind(hyper: &Hyper, address: String) -> Result<TcpListener, Error> {
        hyper.bind(address).await
    }

    fn serve(hyper: &Hyper, listener: TcpListener, signal: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        Box::pin(hyper.serve(listener).with_graceful_shutdown(signal))
    }
}

fn main() -> ExitCode {
    pointwork_wire_tests::main::<OnHyper>([mounting::all()])
}
