use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Incoming};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::{ClientError, Framing, Request, Response, patient};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// An HTTP/2 connection without TLS. Several requests may be in flight.
#[derive(Debug)]
pub struct Http2 {
    address: SocketAddr,
    sender: SendRequest<UnsyncBoxBody<Bytes, BoxError>>,
    driver: JoinHandle<hyper::Result<()>>,
}

impl Drop for Http2 {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Http2 {
    pub(super) async fn open(address: SocketAddr) -> Result<Self, ClientError> {
        let open = async {
            let stream = TcpStream::connect(address).await?;
            handshake(TokioExecutor::new(), TokioIo::new(stream))
                .await
                .map_err(|error| ClientError::caused("the other end does not speak HTTP/2", error))
        };
        let (sender, connection) = patient("the HTTP/2 handshake", open).await?;
        // The requests of the connection report its failure.
        let driver = tokio::spawn(connection);
        Ok(Self {
            address,
            sender,
            driver,
        })
    }

    /// Sends one request and reads the reply.
    ///
    /// # Errors
    /// If the request is invalid in HTTP/2, or there is no whole reply.
    pub async fn send(&self, request: Request) -> Result<Response, ClientError> {
        let told = format!("{request} over HTTP/2");
        let exchange = async {
            let uri = format!("http://{}{}", self.address, request.target());
            let mut built = http::Request::builder().method(request.method()).uri(uri);
            for (name, value) in request.headers() {
                built = built.header(name, value.as_slice());
            }
            let built = built
                .body(Full::new(Bytes::from(request.into_body())))
                .map_err(|error| ClientError::caused("the request cannot be built", error))?;
            let failed = |error| ClientError::caused("the stream failed", error);
            let (parts, body) = self.begin(built).await.map_err(failed)?.into_parts();
            let headers = parts
                .headers
                .iter()
                .map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
            Ok(Response {
                status: parts.status.as_u16(),
                headers: headers.collect(),
                body: body.collect().await.map_err(failed)?.to_bytes().to_vec(),
                framing: Framing::Frames,
            })
        };
        patient("the reply", exchange)
            .await
            .map_err(|error| error.during(&told))
    }

    /// Sends a request whose body may still be streaming, and returns when the head of the reply has arrived.
    ///
    /// # Errors
    /// If the stream or the connection ends before.
    pub fn begin<B>(
        &self,
        request: http::Request<B>,
    ) -> impl Future<Output = hyper::Result<http::Response<Incoming>>> + Send + use<B>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let mut sender = self.sender.clone();
        async move {
            sender.ready().await?;
            sender
                .send_request(request.map(|body| body.map_err(Into::into).boxed_unsync()))
                .await
        }
    }

    /// Waits until the server closes the connection gracefully.
    ///
    /// # Errors
    /// If the connection ends in another way.
    pub async fn ended(&mut self) -> hyper::Result<()> {
        (&mut self.driver).await.unwrap_or(Ok(()))
    }
}
