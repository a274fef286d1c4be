//! The socket of a connection, as hyper sees it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::{Buf, Bytes, BytesMut};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::TcpStream;

use crate::framing::Framing;
use crate::link::Link;

/// A socket that gives back what was read to tell the protocol, spoils a head that is framed in two ways (see
/// [`Framing`]), and notes when the client takes no more bytes.
pub(crate) struct Io {
    stream: TokioIo<TcpStream>,
    begin: Bytes,
    framing: Option<Framing>,
    link: Arc<Link>,
}

impl Io {
    pub(crate) fn http1(stream: TcpStream, mut begin: BytesMut, link: Arc<Link>) -> Self {
        let mut framing = Framing::new();
        framing.look_through(&mut begin);
        Self {
            framing: Some(framing),
            ..Self::http2(stream, begin, link)
        }
    }

    pub(crate) fn http2(stream: TcpStream, begin: BytesMut, link: Arc<Link>) -> Self {
        Self {
            stream: TokioIo::new(stream),
            begin: begin.freeze(),
            framing: None,
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
        // What TokioIo does, with a look at the bytes in between.
        //
        // SAFETY: the bytes are only written to, and only through `ReadBuf`, which never makes one uninitialised.
        let mut read = ReadBuf::uninit(unsafe { buf.as_mut() });
        let Self { stream, framing, .. } = &mut *self;
        ready!(Pin::new(stream.inner_mut()).poll_read(cx, &mut read))?;
        if let Some(framing) = framing {
            framing.look_through(read.filled_mut());
        }
        let length = read.filled().len();
        // SAFETY: `ReadBuf` says that so many bytes from the start of the cursor are initialised.
        unsafe { buf.advance(length) };
        Poll::Ready(Ok(()))
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
