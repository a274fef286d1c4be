//! A client of HTTP/2 in clear text, with prior knowledge.

use http::{Request, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use pointwork_core::Body;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::Server;
use crate::client::within;

/// The preface and empty settings, as a client begins that answers nothing.
pub(crate) const BEGIN: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// One connection.
pub(crate) struct Http2Client {
    /// Sends requests; a clone sends them on the same connection.
    pub(crate) sender: SendRequest<Body>,
    /// Ends with the connection.
    pub(crate) connection: JoinHandle<hyper::Result<()>>,
}

impl Http2Client {
    /// Opens a connection.
    pub(crate) async fn connect(server: &Server) -> Self {
        let stream = within("connecting", TcpStream::connect(server.address)).await.unwrap();
        let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
            .await
            .unwrap();
        Self {
            sender,
            connection: tokio::spawn(connection),
        }
    }

    /// Sends a request and returns the head of its reply.
    pub(crate) async fn send(&mut self, method: &str, path: &str, body: Body) -> hyper::Result<Response<Incoming>> {
        let uri = format!("http://a{path}");
        let request = Request::builder().method(method).uri(uri).body(body).unwrap();
        within("the reply", self.sender.send_request(request)).await
    }

    /// Sends a request and returns the status and the body of its reply.
    pub(crate) async fn text(&mut self, method: &str, path: &str, body: Body) -> (StatusCode, String) {
        let reply = self.send(method, path, body).await.unwrap();
        assert_eq!(reply.version(), Version::HTTP_2);
        let status = reply.status();
        let bytes = within("the body", reply.into_body().collect())
            .await
            .unwrap()
            .to_bytes();
        (status, String::from_utf8(bytes.to_vec()).unwrap())
    }
}
