//! A TCP proxy before a server, with faults.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What happens to the bytes of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// They pass.
    None,
    /// They pass after that time.
    Delay(Duration),
    /// They wait until there is another fault.
    Stall,
    /// Connections end, and new ones end at once.
    Cut,
}

/// Ends when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    fault: Arc<watch::Sender<Fault>>,
    address: SocketAddr,
}

impl Proxy {
    /// A proxy on a free port of 127.0.0.1, before the server on that port.
    ///
    /// # Panics
    /// If there is no free port.
    pub async fn before(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (fault, faults) = watch::channel(Fault::None);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if *faults.borrow() == Fault::Cut {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else {
                    continue;
                };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(pass(from_client, to_server, faults.clone()));
                tokio::spawn(pass(from_server, to_client, faults.clone()));
            }
        });
        let fault = Arc::new(fault);
        Self { fault, address }
    }

    /// The address for clients.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// Sets what happens from now on.
    pub fn set(&self, fault: Fault) {
        self.fault.send_replace(fault);
    }
}

#[expect(clippy::disallowed_methods, reason = "a delay is one of the faults")]
async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut faults: watch::Receiver<Fault>) {
    let mut buffer = vec![0; 64 * 1024];
    let cut = {
        let mut faults = faults.clone();
        async move { faults.wait_for(|fault| *fault == Fault::Cut).await.is_ok() }
    };
    let passes = async {
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            let fault = *faults.borrow_and_update();
            if let Fault::Delay(time) = fault {
                tokio::time::sleep(time).await;
            }
            if faults.wait_for(|fault| *fault != Fault::Stall).await.is_err()
                || to.write_all(&buffer[..count]).await.is_err()
            {
                return;
            }
        }
    };
    tokio::select! {
        _ = cut => {}
        () = passes => {}
    }
}
