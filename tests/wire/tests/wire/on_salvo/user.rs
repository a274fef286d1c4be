//! A salvo application on salvo's own server, as a user of the adapter has it.

use std::net::SocketAddr;

use salvo_core::conn::tcp::TcpAcceptor;
use salvo_core::{Server, Service};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use pointwork_wire_tests::{Probe, Reply};

pub(crate) struct User {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl User {
    pub(crate) async fn serve(service: impl Into<Service>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = service.into();
        let acceptor = TcpAcceptor::try_from(listener).unwrap();
        let serving = tokio::spawn(async move { Server::new(acceptor).serve(service).await });
        Self { address, serving }
    }

    pub(crate) async fn client(&self) -> Probe {
        Probe::connect(self.address).await
    }

    pub(crate) async fn get(&self, path: &str) -> Reply {
        self.client().await.get(path).await
    }

    pub(crate) async fn send(&self, request: &str) -> Reply {
        let mut client = self.client().await;
        client.send(request).await;
        client.reply().await
    }
}

impl Drop for User {
    fn drop(&mut self) {
        self.serving.abort();
    }
}
