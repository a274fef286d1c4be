//! One connection, from its first byte to its last.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::BytesMut;
use pointwork_core::Protocols;
use tokio::io::{AsyncWriteExt as _, copy, sink};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::framing::Framing;
use crate::io::Io;
use crate::link::Link;
use crate::server::{Answer, Server};
use crate::watch::Watch;
use crate::{http1, http2};

/// What a client of HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Room for the first read: nearly every first request fits.
const FIRST_READ: usize = 4 * 1024;

/// How long a closed connection still takes in what the client sends, see [`linger`].
const LINGER: Duration = Duration::from_secs(2);

pub(crate) async fn serve<S: Answer>(server: Arc<Server<S>>, stream: TcpStream, link: Arc<Link>) {
    let mut watch = Watch::new(link.clone());
    let Some((protocol, begin)) = begin(&server, &stream, &mut watch).await else {
        return;
    };
    match protocol {
        Protocol::Http1 => {
            let io = Io::new(stream, begin, Some(Framing::new()), link);
            http1::serve(server, io, watch).await;
        }
        Protocol::Http2 => http2::serve(server, Io::new(stream, begin, None, link), watch).await,
    }
}

enum Protocol {
    Http1,
    Http2,
}

/// Waits for the first bytes and tells the protocol by them; `None` if the connection ends before that.
async fn begin<S>(server: &Server<S>, stream: &TcpStream, watch: &mut Watch) -> Option<(Protocol, BytesMut)> {
    watch.link().await_first_byte(server.options.first_byte_timeout);
    let mut bytes = BytesMut::new();
    poll_fn(|cx| {
        loop {
            match stream.poll_read_ready(cx) {
                Poll::Ready(Ok(())) => {}
                Poll::Ready(Err(_)) => return Poll::Ready(None),
                // A drain ends it too: there is no request in flight.
                Poll::Pending => return watch.poll(cx).map(|_| None),
            }
            let first = bytes.is_empty();
            bytes.reserve(FIRST_READ);
            match stream.try_read_buf(&mut bytes) {
                Ok(0) => return Poll::Ready(None),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(_) => return Poll::Ready(None),
            }
            if first {
                watch.link().await_head();
            }
            if let Some(protocol) = tell(server.options.protocols, &bytes) {
                return Poll::Ready(Some(protocol));
            }
        }
    })
    .await
    .map(|protocol| (protocol, bytes))
}

/// `None` if it takes more bytes to tell.
fn tell(protocols: Protocols, bytes: &[u8]) -> Option<Protocol> {
    match protocols {
        Protocols::Http1 => Some(Protocol::Http1),
        Protocols::Http2 => Some(Protocol::Http2),
        Protocols::Both if bytes.starts_with(PREFACE) => Some(Protocol::Http2),
        Protocols::Both if PREFACE.starts_with(bytes) => None,
        _ => Some(Protocol::Http1),
    }
}

/// Ends the server's own direction, then reads and forgets what the client still sends.
///
/// Closing a socket with unread bytes in it makes the operating system reset the connection, and the reset may overtake
/// the last reply: a client that uploads too much would never see its 413.
pub(crate) async fn linger(mut stream: TcpStream) {
    // hyper did so already, except after a successful CONNECT and some errors; twice does no harm.
    if stream.shutdown().await.is_ok() {
        let _ = timeout(LINGER, copy(&mut stream, &mut sink())).await;
    }
}
