//! The server that is built in.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;
use std::thread;

use derive_more::Debug;
use pointwork::ConnectOptions;
pub use pointwork_core::ServerOptions;
use pointwork_hyper::Hyper;
use tokio::sync::{oneshot, watch};

use crate::error::{Error, ErrorKind};
use crate::host::Host;

/// A running server. Cheap to clone; dropping it changes nothing.
#[derive(Clone, Debug)]
pub struct Server {
    address: SocketAddr,
    #[debug(skip)]
    stop: Arc<watch::Sender<bool>>,
    #[debug(skip)]
    stopped: watch::Receiver<bool>,
}

impl Server {
    pub(crate) async fn start(host: &Host, address: &str, options: ServerOptions) -> Result<Self, Error> {
        let hyper = Hyper::with_options(options);
        // Before it is connected: an application cannot be disconnected from an adapter that does not serve.
        let mut addresses = resolved(address).await?.into_iter();
        let listener = loop {
            match addresses.next() {
                None => return Err(not_found(address)),
                Some(one) => match hyper.bind(one).await {
                    Err(_) if addresses.len() > 0 => {}
                    listener => break listener?,
                },
            }
        };
        let address = listener.local_addr().map_err(|error| {
            Error::new(ErrorKind::Host, "the address of the server cannot be read").with_source(error)
        })?;
        host.app()?.connect_to(hyper.clone(), ConnectOptions::new())?;
        let (stop, mut stopping) = watch::channel(false);
        let (ended, stopped) = watch::channel(false);
        let signal = async move {
            let _ = stopping.wait_for(|stop| *stop).await;
        };
        let serving = hyper.serve(listener).with_graceful_shutdown(signal);
        let keep = Arc::new(stop);
        let stop = keep.clone();
        host.threads().spawn(async move {
            // Without a holder it serves on.
            let _keep = keep;
            serving.await;
            ended.send_replace(true);
        });
        Ok(Self { address, stop, stopped })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Begins to stop: no connection is accepted any more, and requests in flight end within the option
    /// [`shutdown_grace`](field@ServerOptions::shutdown_grace).
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Completes when the server has stopped.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stopped = self.stopped.clone();
        async move {
            // An error means that its task is gone.
            let _ = stopped.wait_for(|stopped| *stopped).await;
        }
    }

    pub(crate) fn has_stopped(&self) -> bool {
        *self.stopped.borrow()
    }
}

/// The addresses of a name, which a thread of its own looks up: those of the runtime may all be in functions that wait.
async fn resolved(address: &str) -> Result<Vec<SocketAddr>, Error> {
    if let Ok(address) = address.parse() {
        return Ok(vec![address]);
    }
    let (done, addresses) = oneshot::channel();
    let name = address.to_owned();
    let look_up = move || {
        // Its caller may have given up.
        let _ = done.send(name.to_socket_addrs().map(Iterator::collect));
    };
    let failed = |error| not_found(address).with_source(error);
    thread::Builder::new().spawn(look_up).map_err(failed)?;
    let addresses = addresses.await.unwrap_or_else(|_| Ok(Vec::new()));
    addresses.map_err(failed)
}

fn not_found(address: &str) -> Error {
    let message = format!("the address `{address}` is not found, expected one such as `127.0.0.1:8080`");
    Error::new(ErrorKind::Host, message)
}
