//! One connection, from its first byte to its last.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;

use bytes::{Bytes, BytesMut};
use http::{Request, Response};
use http_body::Body as HttpBody;
use hyper::body::Incoming;
use hyper::service::Service;
use pointwork_core::{Protocols, ServerOptions};
use tokio::net::TcpStream;

use crate::body::BoxError;
use crate::driver::Driver;
use crate::io::Io;
use crate::state::ConnectionState;
use crate::{http1, http2};

/// The first bytes of a client of HTTP/2.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Room for the first read: nearly every first request fits.
const FIRST_READ: usize = 4 * 1024;

/// The part of a server that its connections share.
pub(crate) struct Server<S> {
    pub(crate) options: ServerOptions,
    pub(crate) service: S,
}

/// A service that answers every request: the argument of [`serve`](crate::serve).
///
/// Every [`hyper::service::Service`] is one that never fails, and whose replies have a body of [`Bytes`].
pub trait InfallibleService:
    Service<Request<Incoming>, Response = Response<Self::ResBody>, Error = Infallible, Future: Send> + Send + Sync + 'static
{
    /// The body of a reply.
    type ResBody: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static;
}

impl<S, B> InfallibleService for S
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send> + Send + Sync + 'static,
    B: HttpBody<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type ResBody = B;
}

pub(crate) async fn serve<S: InfallibleService>(
    server: Arc<Server<S>>,
    stream: TcpStream,
    state: Arc<ConnectionState>,
) {
    let mut driver = Driver::new(state.clone());
    let Some((is_http2, first)) = begin(server.options.protocols, &stream, &mut driver).await else {
        return;
    };
    let io = Io::new(stream, first, !is_http2, state);
    if is_http2 {
        http2::serve(&server, io, driver).await;
    } else {
        http1::serve(&server, io, driver).await;
    }
}

/// Waits for the first bytes, which tell whether the connection speaks HTTP/2; `None` if it ends before that.
async fn begin(protocols: Protocols, stream: &TcpStream, driver: &mut Driver) -> Option<(bool, BytesMut)> {
    let mut bytes = BytesMut::new();
    poll_fn(|cx| {
        loop {
            match stream.poll_read_ready(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(None),
                // A shutdown ends it too: no request is in flight.
                Poll::Pending => return driver.poll(cx).map(|_| None),
            }
            let is_first = bytes.is_empty();
            bytes.reserve(FIRST_READ);
            match stream.try_read_buf(&mut bytes) {
                Ok(0) => return Poll::Ready(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(_) => return Poll::Ready(None),
            }
            if is_first {
                driver.state.deadlines.await_head();
            }
            if let Some(is_http2) = is_http2(protocols, &bytes) {
                return Poll::Ready(Some(is_http2));
            }
        }
    })
    .await
    .map(|is_http2| (is_http2, bytes))
}

/// `None` if more bytes are needed.
fn is_http2(protocols: Protocols, bytes: &[u8]) -> Option<bool> {
    match protocols {
        Protocols::Http2 => Some(true),
        Protocols::Both if bytes.starts_with(PREFACE) => Some(true),
        Protocols::Both if PREFACE.starts_with(bytes) => None,
        _ => Some(false),
    }
}
