//! The adapters under test.

use std::sync::Arc;

use pointwork_actix::Actix;
use pointwork_axum::Axum;
use pointwork_core::{BoxFuture, Error, ServerOptions, Transport};
use pointwork_hyper::Hyper;
use pointwork_salvo::Salvo;
use pointwork_trillium::Trillium;
use tokio::net::TcpListener;

/// One adapter: its name, and its constructor.
#[derive(Clone, Copy, Debug)]
pub struct On {
    /// The adapter's name in logs and on the command line.
    pub name: &'static str,
    /// Makes an adapter with these options.
    pub open: fn(ServerOptions) -> Arc<dyn Adapter>,
}

/// All adapters.
pub const ADAPTERS: [On; 5] = [
    On {
        name: "axum",
        open: |options| Arc::new(Axum::with_options(options)),
    },
    On {
        name: "trillium",
        open: |options| Arc::new(Trillium::with_options(options)),
    },
    On {
        name: "actix",
        open: |options| Arc::new(Actix::with_options(options)),
    },
    On {
        name: "salvo",
        open: |options| Arc::new(Salvo::with_options(options)),
    },
    On {
        name: "hyper",
        open: |options| Arc::new(Hyper::with_options(options)),
    },
];

/// The functions that all adapters have in addition to [`Transport`].
pub trait Adapter: Transport {
    /// The adapter's `bind`.
    ///
    /// # Errors
    /// If the address is not available.
    fn bind(&self, address: String) -> BoxFuture<'_, Result<TcpListener, Error>>;

    /// The adapter's `serve`, until the signal. Dropping the future cuts every connection.
    fn serve(&self, listener: TcpListener, signal: BoxFuture<'static, ()>) -> BoxFuture<'static, ()>;
}

macro_rules! adapters {
    ($($adapter:ty),+) => {
        $(impl Adapter for $adapter {
            fn bind(&self, address: String) -> BoxFuture<'_, Result<TcpListener, Error>> {
                Box::pin(<$adapter>::bind(self, address))
            }

            fn serve(&self, listener: TcpListener, signal: BoxFuture<'static, ()>) -> BoxFuture<'static, ()> {
                Box::pin(<$adapter>::serve(self, listener).with_graceful_shutdown(signal))
            }
        })+
    };
}

adapters!(Hyper, Axum, Trillium, Actix, Salvo);
