//! The socket of a connection of the adapter's own server, with the limits that trillium lacks.

use std::any::Any;
use std::borrow::Cow;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use pointwork_core::adapter::{Deadlines, Framing, Timer};
use pointwork_core::{ServerOptions, Timers};
use socket2::SockRef;
use tokio::io::{AsyncRead as _, AsyncWrite as _, AsyncWriteExt as _, ReadBuf, copy, sink};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{sleep_until, timeout};
use trillium::Conn;
use trillium_http::Conn as HttpConn;
use trillium_server_common::{AsyncRead, AsyncWrite, Transport};

use crate::disconnect::Client;
use crate::head_buffer::HeadBuffer;

/// The longest time that the rest of a request's body is read that no handler wanted. Real time decides: the network needs this
/// time.
const LINGER: Duration = Duration::from_secs(2);

/// A connection that ends when its client takes too long to send a head, or to take a reply.
///
/// trillium reads from it outside of its handler only to wait for a head, or to skip a body. So a read has a deadline
/// while it waits, unless a handler runs.
pub(crate) struct Socket {
    /// Taken at the end.
    stream: Option<TcpStream>,
    peer: SocketAddr,
    max_header_bytes: usize,
    phase: Phase,
    deadlines: Deadlines,
    timer: Timer,
    framing: Framing,
    head: HeadBuffer,
    /// The number of bytes that were read, where a body with trailers counts them.
    count: Option<Arc<AtomicUsize>>,
    /// Whether the reply is complete, where the end of the connection is the end of the reply.
    complete: Option<Arc<AtomicBool>>,
    body_is_unread: bool,
    permit: Option<OwnedSemaphorePermit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Head,
    /// The handler runs.
    Request,
    /// The reply is written; the next read comes after it.
    Reply,
}

/// The timers of a server with these options.
#[expect(clippy::disallowed_methods, reason = "the real clock takes its timers from tokio")]
pub(crate) fn timers(options: &ServerOptions) -> Timers {
    Timers::new(options.clock.clone(), |deadline| Box::pin(sleep_until(deadline.into())))
}

impl Socket {
    pub(crate) fn new(
        stream: TcpStream,
        peer: SocketAddr,
        options: &ServerOptions,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            stream: Some(stream),
            peer,
            max_header_bytes: options.max_header_bytes as usize,
            phase: Phase::Head,
            deadlines: Deadlines::new(options),
            timer: Timer::new(timers(options)),
            // trillium strips line feeds, CRs and form feeds from the end of a line.
            framing: Framing::new(options.max_header_bytes).strict(),
            head: HeadBuffer::default(),
            count: None,
            complete: None,
            body_is_unread: false,
            permit: Some(permit),
        }
    }

    /// The socket below a connection; `None` in a server that is not the adapter's.
    pub(crate) fn below(conn: &mut Conn) -> Option<&mut Self> {
        let native: &mut HttpConn<Box<dyn Transport>> = conn.as_mut();
        let mut transport: &mut dyn Any = &mut **native.transport_mut();
        // trillium boxes the output of its acceptor.
        while transport.is::<Box<dyn Transport>>() {
            transport = &mut **transport.downcast_mut::<Box<dyn Transport>>()?;
        }
        transport.downcast_mut()
    }

    /// The handler runs, and reads have no deadline.
    pub(crate) fn request_begins(&mut self) {
        self.phase = Phase::Request;
        self.deadlines.await_nothing();
        self.body_is_unread = false;
    }

    /// The reply is written, and the reads behind it have a deadline again.
    pub(crate) fn reply_begins(&mut self, body_is_unread: bool) {
        self.phase = Phase::Reply;
        self.body_is_unread = body_is_unread;
    }

    /// The reply is written, and a read comes behind it.
    fn reply_ended(&mut self) {
        self.phase = Phase::Head;
        self.count = None;
        if self.body_is_unread {
            self.deadlines.await_head_within(LINGER);
        } else {
            self.deadlines.await_head();
        }
    }

    /// Counts the bytes that are read from now on.
    pub(crate) fn counted(&mut self) -> Arc<AtomicUsize> {
        self.count.insert(Arc::default()).clone()
    }

    /// Resets the connection at its end unless the result is set by then.
    pub(crate) fn reset_unless_complete(&mut self) -> Arc<AtomicBool> {
        self.complete.insert(Arc::default()).clone()
    }

    /// The client, for a reply whose next chunk may never come; `None` if the system has no more descriptors.
    pub(crate) fn client(&mut self) -> Option<Client> {
        let stream = SockRef::from(self.stream.as_ref()?).try_clone().ok()?;
        Some(Client::new(stream))
    }

    fn stream(&mut self) -> Pin<&mut TcpStream> {
        Pin::new(self.stream.as_mut().expect("it is taken by the drop alone"))
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut read = ReadBuf::new(buf);
        if self.stream().poll_read(cx, &mut read)?.is_ready() {
            self.deadlines.note_read();
            self.framing.follow(read.filled_mut());
            return Poll::Ready(Ok(read.filled().len()));
        }
        self.poll_late(cx)
    }

    /// Reads so that trillium sees a head at once, however many reads it takes: trillium doubles its buffer for every
    /// read of a head, so 30 of one byte each would take a GiB.
    fn poll_head(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        // A head that came with the end of a body before it, or behind empty lines, may still take several reads.
        if buf.len() > self.max_header_bytes.saturating_mul(2).max(64 * 1024) {
            return Poll::Ready(Err(cut()));
        }
        if self.head.bytes.is_empty() {
            let length = ready!(self.poll_receive(cx, buf))?;
            if self.head.completes(&buf[..length]) || length == 0 || length == buf.len() {
                return Poll::Ready(Ok(length));
            }
            self.head.bytes.extend_from_slice(&buf[..length]);
        }
        let mut more = [0; 1024];
        loop {
            let length = ready!(self.poll_receive(cx, &mut more))?;
            let more = &more[..length];
            let complete = length == 0 || self.head.completes(more);
            self.head.bytes.extend_from_slice(more);
            if complete || self.head.bytes.len() > self.max_header_bytes {
                self.head.released = true;
                return Poll::Ready(Ok(self.head.give(buf)));
            }
        }
    }

    fn written(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        self.deadlines.note_write(written.is_ready());
        if written.is_ready() {
            return written;
        }
        self.poll_late(cx)
    }

    /// Fails when the deadline is over.
    fn poll_late(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        ready!(self.timer.poll(cx, self.deadlines.current()));
        Poll::Ready(Err(cut()))
    }
}

/// trillium logs nearly every other kind as an error of the server.
fn cut() -> io::Error {
    io::ErrorKind::UnexpectedEof.into()
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        if this.phase == Phase::Reply {
            this.reply_ended();
        }
        let length = if this.head.released {
            this.head.give(buf)
        } else if this.framing.is_broken() {
            // What was read before is out. trillium would wait for the end of the body.
            let in_handler = this.phase == Phase::Request;
            let error = if in_handler {
                io::ErrorKind::InvalidData.into()
            } else {
                cut()
            };
            return Poll::Ready(Err(error));
        } else if this.phase == Phase::Request {
            let length = ready!(this.poll_receive(cx, buf))?;
            this.head.remember(&buf[..length]);
            length
        } else {
            ready!(this.poll_head(cx, buf))?
        };
        if let Some(count) = &this.count {
            count.fetch_add(length, Ordering::Relaxed);
        }
        Poll::Ready(Ok(length))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = this.stream().poll_write(cx, buf);
        this.written(cx, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = this.stream().poll_write_vectored(cx, bufs);
        this.written(cx, written)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream().poll_flush(cx)
    }

    fn poll_close(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream().poll_shutdown(cx)
    }
}

impl Transport for Socket {
    fn set_nodelay(&mut self, nodelay: bool) -> io::Result<()> {
        self.stream().set_nodelay(nodelay)
    }

    fn peer_addr(&self) -> io::Result<Option<SocketAddr>> {
        Ok(Some(self.peer))
    }

    /// Without it trillium would speak HTTP/2 to a client that begins with its preface.
    fn negotiated_alpn(&self) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(b"http/1.1"))
    }
}

impl Drop for Socket {
    #[expect(clippy::disallowed_methods, reason = "it only bounds the cleanup of a socket")]
    fn drop(&mut self) {
        let Some(mut stream) = self.stream.take() else {
            return;
        };
        let broke_off = |complete: &Arc<AtomicBool>| !complete.load(Ordering::Relaxed);
        if self.complete.as_ref().is_some_and(broke_off) {
            // Without a reset the end of the connection would look like that of the reply.
            let _ = stream.set_zero_linger();
        } else if self.body_is_unread
            && let Ok(runtime) = Handle::try_current()
        {
            // Closing a socket with unread bytes in it resets the connection, and the reset may overtake the reply: a
            // client that uploads too much would never see its 413.
            let permit = self.permit.take();
            runtime.spawn(async move {
                if stream.shutdown().await.is_ok() {
                    let _ = timeout(LINGER, copy(&mut stream, &mut sink())).await;
                }
                drop(permit);
            });
        }
    }
}
