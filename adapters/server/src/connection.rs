//! One connection, from its first byte to its last.

use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use pointwork_core::Protocols;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::connections::Entry;
use crate::io::Io;
use crate::server::{Answer, Server};
use crate::watch::{Alarm, Watch};
use crate::{http1, http2};

/// What a client of HTTP/2 begins with.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Room for the first read: nearly every first request fits.
const FIRST_READ: usize = 4 * 1024;

/// How long a closed connection still takes in what the client sends, see [`linger`].
const LINGER: Duration = Duration::from_secs(2);

pub(crate) async fn serve<S: Answer>(server: Arc<Server<S>>, stream: TcpStream, entry: Entry) {
    let mut watch = Watch::new(entry);
    let Some((protocol, begin)) = begin(&server, &stream, &mut watch).await else {
        return;
    };
    let link = watch.link().clone();
    match protocol {
        Protocol::Http1 => http1::serve(server, Io::http1(stream, begin, link), watch).await,
        Protocol::Http2 => http2::serve(server, Io::http2(stream, begin, link), watch).await,
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
pub(crate) async fn linger(mut stream: TcpStream, mut watch: Watch) {
    // hyper did so already, except after a successful CONNECT and some errors; twice does no harm.
    if poll_fn(|cx| Pin::new(&mut stream).poll_shutdown(cx)).await.is_err() {
        return;
    }
    let mut scratch = vec![0; 8 * 1024];
    let mut end = pin!(tokio::time::sleep(LINGER));
    poll_fn(|cx| {
        loop {
            if end.as_mut().poll(cx).is_ready() || watch.poll(cx) == Poll::Ready(Alarm::Cut) {
                return Poll::Ready(());
            }
            let mut buf = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut stream).poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {}
                _ => return Poll::Ready(()),
            }
        }
    })
    .await;
}
