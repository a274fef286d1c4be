//! The socket of a connection, as hyper sees it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use crate::framing::Framing;
use crate::link::Link;

/// A socket that gives back what was read to tell the protocol, spoils a head that is framed in two ways (see
/// [`Framing`]), and notes when the client takes no more bytes.
pub(crate) struct Io {
    stream: TcpStream,
    begin: Bytes,
    framing: Option<Framing>,
    link: Arc<Link>,
}

impl Io {
    pub(crate) fn new(stream: TcpStream, mut begin: BytesMut, mut framing: Option<Framing>, link: Arc<Link>) -> Self {
        if let Some(framing) = &mut framing {
            framing.look_through(&mut begin);
        }
        Self {
            stream,
            begin: begin.freeze(),
            framing,
            link,
        }
    }

    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream
    }

    fn noted(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Pending => self.link.write_stalled(),
            Poll::Ready(_) => self.link.write_moved(),
        }
        written
    }
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.begin.has_remaining() {
            let length = self.begin.len().min(buf.remaining());
            buf.put_slice(&self.begin.split_to(length));
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        if let Some(framing) = &mut self.framing {
            framing.look_through(&mut buf.filled_mut()[before..]);
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
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.noted(written)
    }
}
