//! Adapter B seen from the wire: the cases of every adapter, and its own.

mod mounting;
mod native;

use std::process::ExitCode;

use pointwork_core::{BoxFuture, Error, ServerOptions};
use pointwork_trillium::Trillium;
use pointwork_wire_tests::{Differences, Http2, Subject};
use tokio::net::TcpListener;

struct OnTrillium;

impl Subject for OnTrillium {
    type Adapter = Trillium;

    const DIFFERENCES: Differences = Differences {
        http2: Http2::Never,
        ..Differences::NONE
    };

    fn adapter(options: ServerOptions) -> Trillium {
        Trillium::with_options(options)
    }

    async fn bind(trillium: &Trillium, address: String) -> Result<TcpListener, Error> {
        trillium.bind(address).await
    }

    fn serve(trillium: &Trillium, listener: TcpListener, signal: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        Box::pin(trillium.serve(listener).with_graceful_shutdown(signal))
    }
}

fn main() -> ExitCode {
    pointwork_wire_tests::main::<OnTrillium>([mounting::all(), native::all()])
}
