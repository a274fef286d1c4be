//! A client that hides nothing: it sends the given bytes, and reads replies strictly.
//!
//! Ordinary clients repair, reorder and pool. A behaviour suite needs the reply as it arrived: headers in order with
//! their duplicates, the framing, and the bytes after the end. Every operation fails after a while.

mod error;
mod frames;
mod http1;
mod http2;
mod message;
mod transcript;

use std::future::Future;
use std::net::SocketAddr;

pub use error::ClientError;
pub use frames::{Frame, Frames};
pub use http1::Connection;
pub use http2::Http2;
pub use message::{Framing, Request, Response};
use pointwork_test_clock::real::within;
use tokio::net::TcpSocket;
pub use transcript::{Asked, End, Reply, Transcript};

/// Waits for an operation; a hang becomes a failure.
async fn patient<T>(what: &str, operation: impl Future<Output = Result<T, ClientError>>) -> Result<T, ClientError> {
    let done = within(what, operation).await;
    done.unwrap_or_else(|error| Err(ClientError::new(error.to_string())))
}

/// A client of one address.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    address: SocketAddr,
}

impl Client {
    /// A client of that address.
    pub fn new(address: SocketAddr) -> Self {
        Self { address }
    }

    /// The address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens an HTTP/1.1 connection.
    ///
    /// # Errors
    /// If the connection is refused or takes too long.
    pub async fn connect(&self) -> Result<Connection, ClientError> {
        Connection::open(self.address).await
    }

    /// Opens an HTTP/1.1 connection whose sockets hold little, so that a server soon waits for a client that does not read.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_narrow(&self) -> Result<Connection, ClientError> {
        let socket = TcpSocket::new_v4()?;
        // The kernel uses at least its own minimum.
        socket.set_recv_buffer_size(2048)?;
        Connection::open_with(socket, self.address).await
    }

    /// Opens an HTTP/2 connection, with prior knowledge and without TLS.
    ///
    /// # Errors
    /// If the connection is refused, takes too long, or does not speak HTTP/2.
    pub async fn connect_http2(&self) -> Result<Http2, ClientError> {
        Http2::open(self.address).await
    }

    /// Sends one request on a connection of its own and reads the reply.
    ///
    /// # Errors
    /// If there is no whole reply, or bytes follow it.
    pub async fn send(&self, request: Request) -> Result<Response, ClientError> {
        let told = request.to_string();
        let exchange = async {
            let mut connection = self.connect().await?;
            let request = request.header("connection", "close");
            connection.write(&request.to_bytes(&self.address.to_string())).await?;
            let response = connection.read_response(request.method()).await?;
            connection.expect_end().await?;
            Ok(response)
        };
        exchange.await.map_err(|error: ClientError| error.during(&told))
    }

    /// Sends exactly these bytes and reads the reply as one to a GET. Bytes after the reply stay unread.
    ///
    /// # Errors
    /// If there is no whole reply.
    pub async fn send_bytes(&self, bytes: impl AsRef<[u8]>) -> Result<Response, ClientError> {
        let mut connection = self.connect().await?;
        connection.write(bytes.as_ref()).await?;
        connection.read_response("GET").await
    }

    /// Sends exactly these bytes on a connection of its own, and records the reply bytes until the other side closes.
    ///
    /// # Errors
    /// If the connection is refused.
    pub async fn exchange(&self, bytes: &[u8]) -> Result<Transcript, ClientError> {
        Transcript::record(self.address, &[bytes]).await
    }

    /// The same in parts: each after the first is sent when the server has sent something, or nothing for a second.
    ///
    /// # Errors
    /// If the connection is refused.
    pub async fn exchange_parts(&self, parts: &[&[u8]]) -> Result<Transcript, ClientError> {
        Transcript::record(self.address, parts).await
    }

    /// Sends a GET for a target.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn get(&self, target: &str) -> Result<Response, ClientError> {
        self.send(Request::new("GET", target)).await
    }

    /// Sends a request of any method without a body.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn call(&self, method: &str, target: &str) -> Result<Response, ClientError> {
        self.send(Request::new(method, target)).await
    }

    /// Sends a POST with a body as JSON.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    pub async fn post_json(&self, target: &str, body: &str) -> Result<Response, ClientError> {
        let request = Request::new("POST", target)
            .header("content-type", "application/json")
            .body(body);
        self.send(request).await
    }
}
