//! The socket of a connection, as trillium sees it.

use std::any::Any;
use std::borrow::Cow;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::SystemTime;

use http::StatusCode;
use pointwork_core::ServerOptions;
use tokio::io::AsyncWrite as _;
use tokio::net::TcpStream;
use tokio::net::tcp::OwnedWriteHalf;
use trillium::Conn;
use trillium_http::Conn as HttpConn;
use trillium_server_common::{AsyncRead, AsyncWrite, Transport};

use super::alarm::Alarm;
use super::connections::{Entry, Phase};
use super::head;
use super::http2::Http2;
use super::linger::linger;
use super::link::Link;
use crate::adapter::Inner;

/// Hands trillium one head at a time, in the few words that it needs, and keeps the head itself and the body for the
/// adapter. Trillium's types lose the order of headers, its parser takes what others refuse, and its body can be read by
/// nobody but the owner of the connection. It keeps the times of [`ServerOptions`] as well, which trillium has not.
pub(crate) struct Io {
    pub(super) server: Arc<Inner>,
    pub(super) link: Arc<Link>,
    pub(super) protocol: Protocol,
    /// Taken when the connection ends.
    writer: Option<OwnedWriteHalf>,
    /// Leaves with the last of the connection.
    entry: Option<Entry>,
    /// What trillium reads next.
    handed: Vec<u8>,
    taken: usize,
    /// A refusal that is being written; nothing is read after it.
    parting: Option<Vec<u8>>,
    pub(super) alarm: Alarm,
    writing: Alarm,
    waiting: Waiting,
    stalled: bool,
    /// The status to write in place of the one that trillium writes, and how much of the reply is written.
    status: Option<(StatusCode, usize)>,
    abandoned: bool,
    /// Whether a reply was begun since the last head.
    replied: bool,
    in_http_10: bool,
    pub(super) http2: Http2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
    /// The connection ended before it could be told.
    None,
}

/// What trillium's reading waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// Nothing: a request is under way.
    No,
    /// A head, for which the time runs.
    Head,
    /// Nothing comes any more.
    Over,
}

/// Where the status stands in the first line of a reply, after `HTTP/1.1 `.
const STATUS: std::ops::Range<usize> = 9..12;

impl Io {
    pub(super) fn new(server: Arc<Inner>, stream: TcpStream, entry: Entry) -> Self {
        // Replies are written whole, so waiting for more to send along only costs time.
        let _ = stream.set_nodelay(true);
        let (reader, writer) = stream.into_split();
        let link = Link::new(reader, entry.connections.clone(), entry.waker.clone());
        Self {
            server,
            link: Arc::new(link),
            protocol: Protocol::None,
            writer: Some(writer),
            entry: Some(entry),
            handed: Vec::new(),
            taken: 0,
            parting: None,
            alarm: Alarm::default(),
            writing: Alarm::default(),
            waiting: Waiting::Head,
            stalled: false,
            status: None,
            abandoned: false,
            replied: false,
            in_http_10: false,
            http2: Http2::default(),
        }
    }

    /// The adapter's own socket below a connection; `None` for a stream of HTTP/2.
    pub(crate) fn below(conn: &mut Conn) -> Option<&mut Self> {
        let native: &mut HttpConn<Box<dyn Transport>> = conn.as_mut();
        let mut transport: &mut dyn Any = &mut **native.transport_mut();
        // trillium boxes what its acceptor made.
        while transport.is::<Box<dyn Transport>>() {
            transport = &mut **transport.downcast_mut::<Box<dyn Transport>>()?;
        }
        transport.downcast_mut()
    }

    pub(super) fn options(&self) -> &ServerOptions {
        &self.server.options
    }

    /// The reply begins here; trillium writes another status, of the same length, in its first line.
    pub(super) fn reply_begins(&mut self, status: Option<StatusCode>) {
        self.link.lock().reply_begins();
        self.status = status.map(|status| (status, 0));
    }

    /// Nobody waits for the reply that trillium is about to write.
    pub(super) fn abandon(&mut self) {
        self.abandoned = true;
    }

    /// The next head, once the request before it is over; nothing is handed out if the connection ends.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.waiting == Waiting::No {
            if !self.link.lock().settle(cx) {
                self.waiting = Waiting::Over;
                return Poll::Ready(());
            }
            self.waiting = Waiting::Head;
            let wait = self.options().header_timeout;
            self.alarm.set(wait);
        }
        let link = self.link.clone();
        loop {
            let mut receiver = link.lock();
            if receiver.may_hold_a_head(self.options().max_header_bytes) {
                match head::take(&mut receiver.buffer, self.options()) {
                    Ok(Some(head)) => {
                        self.alarm.clear();
                        self.waiting = Waiting::No;
                        self.replied = false;
                        self.in_http_10 = head.parts.version == http::Version::HTTP_10;
                        self.handed = head.for_trillium().into_bytes();
                        self.taken = 0;
                        receiver.begin(head);
                        return Poll::Ready(());
                    }
                    Ok(None) => {}
                    Err(status) => {
                        self.parting = Some(refusal(status));
                        return Poll::Ready(());
                    }
                }
            }
            let idle = receiver.buffer.is_empty();
            let ends = match link.phase(cx) {
                Phase::Serving => false,
                Phase::Draining => idle,
                Phase::Cut => true,
            };
            if ends || receiver.ended || self.alarm.poll(cx).is_ready() {
                self.waiting = Waiting::Over;
                // Nothing is under way that a reset could destroy.
                self.replied = false;
                return Poll::Ready(());
            }
            ready!(receiver.poll_fill(cx));
        }
    }

    fn poll_parting(&mut self, cx: &mut Context<'_>, parting: &mut Vec<u8>) -> Poll<()> {
        while !parting.is_empty() {
            let Ok(written @ 1..) = ready!(self.poll_send(cx, parting)) else {
                break;
            };
            parting.drain(..written);
        }
        Poll::Ready(())
    }

    pub(super) fn poll_send(&mut self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.abandoned || self.link.phase(cx) == Phase::Cut {
            // Of this kind trillium makes no noise.
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let patched = self.patched(buf);
        let buf = patched.as_deref().unwrap_or(buf);
        let Some(writer) = &mut self.writer else {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        };
        let Poll::Ready(written) = Pin::new(writer).poll_write(cx, buf) else {
            if !std::mem::replace(&mut self.stalled, true) {
                let wait = self.options().write_timeout;
                self.writing.set(wait);
            }
            ready!(self.writing.poll(cx));
            tracing::debug!("a client took none of its reply for too long");
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        };
        self.stalled = false;
        self.replied = true;
        if let (Some((_, so_far)), Ok(written)) = (&mut self.status, &written) {
            *so_far += written;
        }
        Poll::Ready(written)
    }

    /// The bytes with the status that trillium does not know, if it stands in them.
    fn patched(&mut self, buf: &[u8]) -> Option<Vec<u8>> {
        let (status, begin) = self.status?;
        if begin >= STATUS.end {
            self.status = None;
            return None;
        }
        let mut buf = buf.to_vec();
        for (place, digit) in STATUS.zip(status.as_str().bytes()) {
            if let Some(byte) = place.checked_sub(begin).and_then(|at| buf.get_mut(at)) {
                *byte = digit;
            }
        }
        Some(buf)
    }
}

/// As hyper answers what is no request.
fn refusal(status: StatusCode) -> Vec<u8> {
    let date = httpdate::fmt_http_date(SystemTime::now());
    format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\ndate: {date}\r\n\r\n").into_bytes()
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let this = &mut *self;
        if this.protocol == Protocol::Http2 {
            return this.poll_read_http2(cx, buf);
        }
        if this.taken == this.handed.len() {
            if this.waiting == Waiting::Over || this.protocol == Protocol::None {
                return Poll::Ready(Ok(0));
            }
            if this.parting.is_none() {
                ready!(this.poll_head(cx));
            }
            if let Some(mut parting) = this.parting.take() {
                if this.poll_parting(cx, &mut parting).is_pending() {
                    this.parting = Some(parting);
                    return Poll::Pending;
                }
                this.waiting = Waiting::Over;
            }
        }
        let left = &this.handed[this.taken..];
        let length = left.len().min(buf.len());
        buf[..length].copy_from_slice(&left[..length]);
        this.taken += length;
        Poll::Ready(Ok(length))
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.protocol == Protocol::Http2 {
            return self.poll_write_http2(cx, buf);
        }
        self.poll_send(cx, buf)
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // A socket keeps nothing back.
        Poll::Ready(Ok(()))
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.writer {
            Some(writer) => Pin::new(writer).poll_shutdown(cx),
            None => Poll::Ready(Ok(())),
        }
    }
}

impl Transport for Io {
    fn peer_addr(&self) -> io::Result<Option<SocketAddr>> {
        self.writer
            .as_ref()
            .map(|writer| writer.as_ref().peer_addr())
            .transpose()
    }

    fn set_nodelay(&mut self, nodelay: bool) -> io::Result<()> {
        let writer = self.writer.as_ref();
        writer.map_or(Ok(()), |writer| writer.as_ref().set_nodelay(nodelay))
    }

    /// There is no TLS, but the protocol is known: trillium need not look at the first bytes.
    fn negotiated_alpn(&self) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Borrowed(match self.protocol {
            Protocol::Http2 => b"h2",
            Protocol::Http1 | Protocol::None => b"http/1.1",
        }))
    }
}

impl Drop for Io {
    fn drop(&mut self) {
        self.link.streams.end();
        // Nothing is under way that a reset could destroy.
        let idle = self.waiting == Waiting::Head && self.link.lock().buffer.is_empty();
        let (Some(entry), Some(half), Some(writer)) = (self.entry.take(), self.link.take_half(), self.writer.take())
        else {
            return;
        };
        if entry.connections.phase() == Phase::Cut {
            return;
        }
        if self.in_http_10 && self.link.is_reply_broken() {
            let _ = half.as_ref().set_zero_linger();
            // Dropped, it would end its direction in good order.
            writer.forget();
            return;
        }
        // Dropped, it ends its direction, so that the client sees the end at once.
        drop(writer);
        let runtime = tokio::runtime::Handle::try_current();
        if let (true, false, false, Ok(runtime)) = (self.replied, self.abandoned, idle, runtime) {
            runtime.spawn(linger(half, entry));
        }
    }
}
