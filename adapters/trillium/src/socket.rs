//! The socket of a connection of the adapter's own server, with the limits that trillium lacks.

use std::any::Any;
use std::borrow::Cow;
use std::future::Future;
use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use memchr::memmem;
use pointwork_core::ServerOptions;
use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep_until, timeout};
use trillium::Conn;
use trillium_http::Conn as HttpConn;
use trillium_server_common::{AsyncRead, AsyncWrite, Transport};

/// How long the rest of a request's body is read that no handler wanted.
const LINGER: Duration = Duration::from_secs(2);

const END_OF_HEAD: &[u8] = b"\r\n\r\n";

/// A connection that ends when its client takes too long to send a head, or to take a reply.
///
/// trillium reads from it outside of its handler only to wait for a head, or to skip a body. So the time runs while a
/// read waits, unless a handler runs.
pub(crate) struct Socket {
    /// Taken at the end.
    stream: Option<TcpStream>,
    peer: SocketAddr,
    header_timeout: Option<Duration>,
    write_timeout: Option<Duration>,
    max_header_bytes: usize,
    phase: Phase,
    /// How long the next read may take.
    patience: Option<Duration>,
    reading: Timer,
    writing: Timer,
    held: Held,
    /// How many bytes were read, where somebody asked.
    count: Option<Arc<AtomicUsize>>,
    /// Whether the reply is complete, where only the end of the connection could tell.
    complete: Option<Arc<AtomicBool>>,
    body_is_unread: bool,
    slot: Option<OwnedSemaphorePermit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    FirstByte,
    Head,
    /// The handler runs.
    Request,
    /// The reply is written; the next read comes after it.
    Reply,
}

impl Socket {
    pub(crate) fn new(
        stream: TcpStream,
        peer: SocketAddr,
        options: &ServerOptions,
        slot: OwnedSemaphorePermit,
    ) -> Self {
        Self {
            stream: Some(stream),
            peer,
            header_timeout: options.header_timeout,
            write_timeout: options.write_timeout,
            max_header_bytes: options.max_header_bytes as usize,
            phase: Phase::FirstByte,
            patience: options.first_byte_timeout,
            reading: Timer::default(),
            writing: Timer::default(),
            held: Held::default(),
            count: None,
            complete: None,
            body_is_unread: false,
            slot: Some(slot),
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

    /// Stops the time: the handler runs.
    pub(crate) fn request_begins(&mut self) {
        self.phase = Phase::Request;
        self.body_is_unread = false;
    }

    /// The time runs again once the reply is written.
    pub(crate) fn reply_begins(&mut self, body_is_unread: bool) {
        self.phase = Phase::Reply;
        self.body_is_unread = body_is_unread;
        self.patience = if body_is_unread {
            Some(self.header_timeout.map_or(LINGER, |timeout| timeout.min(LINGER)))
        } else {
            self.header_timeout
        };
    }

    /// Counts the bytes that are read from now on.
    pub(crate) fn counted(&mut self) -> Arc<AtomicUsize> {
        self.count.insert(Arc::default()).clone()
    }

    /// Resets the connection at its end unless the result is set by then.
    pub(crate) fn reset_unless_complete(&mut self) -> Arc<AtomicBool> {
        self.complete.insert(Arc::default()).clone()
    }

    fn stream(&mut self) -> Pin<&mut TcpStream> {
        Pin::new(self.stream.as_mut().expect("it is taken by the drop alone"))
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut read = ReadBuf::new(buf);
        if self.stream().poll_read(cx, &mut read)?.is_ready() {
            let length = read.filled().len();
            if self.phase == Phase::FirstByte {
                self.phase = Phase::Head;
                self.patience = self.header_timeout;
                self.reading.due = None;
            }
            return Poll::Ready(Ok(length));
        }
        if self.phase != Phase::Request {
            ready!(self.reading.poll(cx, self.patience));
            return Poll::Ready(Err(cut()));
        }
        Poll::Pending
    }

    /// Reads so that trillium sees a head at once, however many reads it takes: trillium doubles its buffer for every
    /// read of a head, so 30 of one byte each would take a GiB.
    fn poll_head(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        // A head that came with the end of a body before it, or behind empty lines, may still take several reads.
        if buf.len() > self.max_header_bytes.saturating_mul(2).max(64 * 1024) {
            return Poll::Ready(Err(cut()));
        }
        if self.held.bytes.is_empty() {
            let length = ready!(self.poll_receive(cx, buf))?;
            if self.held.completes(&buf[..length]) || length == 0 || length == buf.len() {
                return Poll::Ready(Ok(length));
            }
            self.held.bytes.extend_from_slice(&buf[..length]);
        }
        let mut more = [0; 1024];
        loop {
            let length = ready!(self.poll_receive(cx, &mut more))?;
            let more = &more[..length];
            let complete = length == 0 || self.held.completes(more);
            self.held.bytes.extend_from_slice(more);
            if complete || self.held.bytes.len() > self.max_header_bytes {
                self.held.released = true;
                return Poll::Ready(Ok(self.held.give(buf)));
            }
        }
    }

    fn written(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.writing.due = None;
            return written;
        }
        ready!(self.writing.poll(cx, self.write_timeout));
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
            this.phase = Phase::Head;
            this.reading.due = None;
            this.count = None;
        }
        let length = if this.held.released {
            this.held.give(buf)
        } else if this.phase == Phase::Request {
            let length = ready!(this.poll_receive(cx, buf))?;
            this.held.remember(&buf[..length]);
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

    /// trillium would look at the first bytes otherwise, and speak HTTP/2 where they ask for it.
    fn negotiated_alpn(&self) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(b"http/1.1"))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let Some(mut stream) = self.stream.take() else {
            return;
        };
        if self
            .complete
            .take()
            .is_some_and(|complete| !complete.load(Ordering::Relaxed))
        {
            // Without a reset the end of the connection would look like that of the reply.
            let _ = stream.set_zero_linger();
        } else if self.body_is_unread
            && let Ok(runtime) = Handle::try_current()
        {
            // Closing a socket with unread bytes in it resets the connection, and the reset may overtake the reply: a
            // client that uploads too much would never see its 413.
            let slot = self.slot.take();
            runtime.spawn(async move {
                let mut scratch = vec![0; 8 * 1024];
                let skipped = async {
                    stream.shutdown().await?;
                    while stream.read(&mut scratch).await? != 0 {}
                    Ok::<_, io::Error>(())
                };
                let _ = timeout(LINGER, skipped).await;
                drop(slot);
            });
        }
    }
}

/// The begin of a head whose end has not come.
#[derive(Default)]
struct Held {
    bytes: Vec<u8>,
    /// Whether they may be given.
    released: bool,
    /// The last bytes that were read: the end of a head may come in pieces.
    tail: [u8; END_OF_HEAD.len() - 1],
}

impl Held {
    /// Whether the end of a head is in these bytes, or ends in them.
    fn completes(&mut self, bytes: &[u8]) -> bool {
        let seam = [&self.tail, &bytes[..bytes.len().min(self.tail.len())]];
        let seam = || memmem::find(&seam.concat(), END_OF_HEAD).is_some();
        let complete = bytes.ends_with(END_OF_HEAD) || memmem::find(bytes, END_OF_HEAD).is_some() || seam();
        self.remember(bytes);
        complete
    }

    fn remember(&mut self, bytes: &[u8]) {
        let kept = self.tail.len();
        let new = &bytes[bytes.len().saturating_sub(kept)..];
        self.tail.rotate_left(new.len());
        self.tail[kept - new.len()..].copy_from_slice(new);
    }

    fn give(&mut self, buf: &mut [u8]) -> usize {
        let length = self.bytes.len().min(buf.len());
        buf[..length].copy_from_slice(&self.bytes[..length]);
        self.bytes.drain(..length);
        self.released = !self.bytes.is_empty();
        length
    }
}

/// A time limit that costs a reading of the clock each time, and a change of the timer hardly ever.
#[derive(Default)]
struct Timer {
    due: Option<Instant>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl Timer {
    /// Completes `limit` after the first poll since `due` was cleared.
    fn poll(&mut self, cx: &mut Context<'_>, limit: Option<Duration>) -> Poll<()> {
        let Some(limit) = limit else {
            return Poll::Pending;
        };
        let due = *self.due.get_or_insert_with(|| Instant::now() + limit);
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(due.into())));
        if sleep.deadline().into_std() > due {
            sleep.as_mut().reset(due.into());
        }
        loop {
            ready!(sleep.as_mut().poll(cx));
            if Instant::now() >= due {
                return Poll::Ready(());
            }
            sleep.as_mut().reset(due.into());
        }
    }
}

#[cfg(test)]
mod tests;
