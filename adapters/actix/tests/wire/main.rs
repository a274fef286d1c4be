//! Adapter C seen from the wire: the cases of every adapter, and its own.

mod ends;
mod mounting;
mod system;

use std::future::Future;
use std::process::ExitCode;

use pointwork_actix::Actix;
use pointwork_core::{BoxFuture, Error, ServerOptions};
use pointwork_wire_tests::{Differences, Http2, Subject};
use tokio::net::TcpListener;

struct OnActix;

impl Subject for OnActix {
    type Adapter = Actix;

    const DIFFERENCES: Differences = Differences {
        http2: Http2::Never,
        ..Differences::NONE
    };

    fn adapter(options: ServerOptions) -> Actix {
        Actix::with_options(options)
    }

    async fn bind(actix: &Actix, address: String) -> Result<TcpListener, Error> {
        actix.bind(address).await
    }

    fn serve(actix: &Actix, listener: TcpListener, signal: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
        Box::pin(actix.serve(listener).with_graceful_shutdown(signal))
    }
}

/// Runs a case within a system of actix, which its application needs.
fn on_actix(case: impl Future<Output = ()>) {
    actix_rt::System::new().block_on(case);
}

fn main() -> ExitCode {
    pointwork_wire_tests::main::<OnActix>([ends::all(), mounting::all(), system::all()])
}
