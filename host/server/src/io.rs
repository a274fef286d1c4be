//! The socket of a connection, as hyper sees it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use pointwork_core::adapter::Framing;
#[cfg(target_os = "linux")]
use socket2::SockRef;
#[cfg(target_os = "linux")]
use tokio::io::Interest;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf, copy, sink};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::state::ConnectionState;

/// The longest time that a closed connection still reads from its client, see [`Io::linger`]. Real time decides: the network needs
/// this time.
const LINGER: Duration = Duration::from_secs(2);

/// A socket that gives back the bytes of the first read, makes a request with two framings malformed (see [`Framing`]), and
/// notes when the client takes no more bytes.
pub(crate) struct Io {
    stream: TcpStream,
    first: Bytes,
    framing: Option<Framing>,
    state: Arc<ConnectionState>,
}

impl Io {
    /// `framing` is that of HTTP/1, which alone needs it.
    pub(crate) fn new(
        stream: TcpStream,
        mut first: BytesMut,
        mut framing: Option<Framing>,
        state: Arc<ConnectionState>,
    ) -> Self {
        if let Some(framing) = &mut framing {
            framing.follow(&mut first);
            state.has_passed(framing.passed(), &stream);
        }
        Self {
            stream,
            first: first.freeze(),
            framing,
            state,
        }
    }

    /// Closes the server's own direction, then reads and drops what the client still sends.
    ///
    /// The operating system resets a connection that is closed with unread bytes in it, and the reset may overtake the last
    /// reply: a client that uploads too much would never see its 413.
    #[expect(clippy::disallowed_methods, reason = "it only bounds the cleanup of a socket")]
    pub(crate) async fn linger(mut self) {
        // hyper did so already, except after a successful CONNECT and some errors; twice does no harm.
        if self.stream.shutdown().await.is_ok() {
            let _ = timeout(LINGER, copy(&mut self.stream, &mut sink())).await;
        }
    }

    pub(crate) fn reset(self) {
        let _ = self.stream.set_zero_linger();
    }

    fn noted(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.state.deadlines.note_write(written.is_ready());
        written
    }
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.first.has_remaining() {
            let length = self.first.len().min(buf.remaining());
            buf.put_slice(&self.first.split_to(length));
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        let this = &mut *self;
        if let Some(framing) = &mut this.framing {
            framing.follow(&mut buf.filled_mut()[before..]);
            this.state.has_passed(framing.passed(), &this.stream);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.noted(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = poll_send(&mut self.stream, cx, bufs);
        self.noted(written)
    }
}

/// Writes without SIGPIPE, which `writev` causes if the client has left, and which ends a program that is not of Rust.
#[cfg(target_os = "linux")]
fn poll_send(stream: &mut TcpStream, cx: &mut Context<'_>, bufs: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
    loop {
        ready!(stream.poll_write_ready(cx))?;
        let send = || SockRef::from(&*stream).send_vectored_with_flags(bufs, libc::MSG_NOSIGNAL);
        match stream.try_io(Interest::WRITABLE, send) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            sent => return Poll::Ready(sent),
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn poll_send(stream: &mut TcpStream, cx: &mut Context<'_>, bufs: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
    Pin::new(stream).poll_write_vectored(cx, bufs)
}
