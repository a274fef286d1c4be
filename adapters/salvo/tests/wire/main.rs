//! Adapter D seen from the wire: the cases of every adapter, and its own.

mod middleware;
mod mounting;
mod user;

use std::process::ExitCode;

use pointwork_core::{BoxFuture, Error, ServerOptions};
use pointwork_salvo::Salvo;
use pointwork_wire_tests::{Differences, Subject};
use tokio::net::TcpListener;

struct OnSalvo;

impl Subject for OnSalvo {
    type Adapter = Salvo;

    const DIFFERENCES: Differences = Differences::NONE;

    fn adapter(options: ServerOptions) -> Salvo {
        Salvo::with_options(options)
    }

    async fn bind(salvo: &Salvo, address: String) -> Result<TcpListener, Error> {
        salvo.bind(address).await
    }

    fn serve(salvo: &Salvo, listener: TcpListener, signal: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        Box::pin(salvo.serve(listener).with_graceful_shutdown(signal))
    }
}

fn main() -> ExitCode {
    pointwork_wire_tests::main::<OnSalvo>([middleware::all(), mounting::all()])
}
