//! The socket of a connection, as hyper sees it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use crate::link::Link;

/// A socket that gives back what was read to tell the protocol, and notes when the client takes no more bytes.
pub(crate) struct Io {
    stream: TokioIo<TcpStream>,
    begin: Bytes,
    link: Arc<Link>,
}

impl Io {
    pub(crate) fn new(stream: TcpStream, begin: Bytes, link: Arc<Link>) -> Self {
        Self {
            stream: TokioIo::new(stream),
            begin,
            link,
        }
    }

    pub(crate) fn into_stream(self) -> TcpStream {
        self.stream.into_inner()
    }

    fn stream(&mut self) -> Pin<&mut TokioIo<TcpStream>> {
        Pin::new(&mut self.stream)
    }

    fn noted(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Pending => self.link.write_stalled(),
            Poll::Ready(_) => self.link.write_moved(),
        }
        written
    }
}

impl Read for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, mut buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        if self.begin.has_remaining() {
            let length = self.begin.len().min(buf.remaining());
            buf.put_slice(&self.begin.split_to(length));
            return Poll::Ready(Ok(()));
        }
        self.stream().poll_read(cx, buf)
    }
}

impl Write for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = self.stream().poll_write(cx, buf);
        self.noted(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream().poll_write_vectored(cx, bufs);
        self.noted(written)
    }
}
