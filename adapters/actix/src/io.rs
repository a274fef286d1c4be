//! The socket of a connection, as actix-http sees it.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http::StatusCode;
use pointwork_core::{BodyError, ServerOptions};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use crate::connections::Phase;
use crate::framing::Framing;
use crate::head::{self, Arrival, Head, REFUSED};
use crate::link::Link;

/// A socket that reads the heads of requests itself, before actix-http does.
///
/// It hands on one request at a time: a stand-in for the head, see [`Head`], and the body as it is. The head itself
/// waits in the [`Link`] for the service. The next head is handed on when the reply is written.
pub(crate) struct Io {
    stream: TcpStream,
    link: Arc<Link>,
    options: Arc<ServerOptions>,
    /// Read, and not handed on yet.
    read: BytesMut,
    /// How much of it was found to hold no whole head.
    searched: usize,
    stand_in: Bytes,
    next: Next,
    begun: bool,
    /// Of `100 Continue`, what is still to be written.
    interim: &'static [u8],
    /// Everything that actix-http had to write is written.
    flushed: bool,
    linger: Option<Pin<Box<Sleep>>>,
}

/// What comes next on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Head,
    Body {
        framing: Framing,
        keep_alive: bool,
    },
    /// Nothing that would be looked at.
    Nothing,
}

/// Room for a read of heads: nearly every one fits.
const HEAD: usize = 4 * 1024;

/// Room for a read of a body.
const BODY: usize = 16 * 1024;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// How long a closed connection still takes in what the client sends, see [`Io::poll_shutdown`].
const LINGER: Duration = Duration::from_secs(2);

impl Io {
    pub(crate) fn new(stream: TcpStream, link: Arc<Link>, options: Arc<ServerOptions>) -> Self {
        Self {
            stream,
            link,
            options,
            read: BytesMut::new(),
            searched: 0,
            stand_in: Bytes::new(),
            next: Next::Head,
            begun: false,
            interim: &[],
            flushed: true,
            linger: None,
        }
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Reads more; 0 at the end.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_read_ready(cx))?;
            let room = match self.next {
                Next::Body { .. } => BODY,
                Next::Head | Next::Nothing => HEAD,
            };
            if self.read.capacity() - self.read.len() < room / 4 {
                self.read.reserve(room);
            }
            match self.stream.try_read_buf(&mut self.read) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return Poll::Ready(done),
            }
        }
    }

    /// While a request is in flight nothing more is handed on; but the client may go away, which shows as the end.
    fn poll_gone(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.read.is_empty() && ready!(self.poll_more(cx))? == 0 {
            return Poll::Ready(Ok(()));
        }
        self.link.next_is_there();
        Poll::Pending
    }

    /// Reads up to a head and puts its stand-in in place. Ready without one at the end of the connection.
    fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.link.is_in_flight() {
            return self.poll_gone(cx);
        }
        if self.link.phase() != Phase::Serving {
            return Poll::Ready(Ok(()));
        }
        loop {
            if self.may_hold_head() {
                match head::take(&mut self.read, &self.options) {
                    Ok(Some(head)) => {
                        self.begin(head);
                        return Poll::Ready(Ok(()));
                    }
                    Ok(None) => self.searched = self.read.len(),
                    Err(status) => {
                        self.refuse(status);
                        return Poll::Ready(Ok(()));
                    }
                }
            }
            if ready!(self.poll_more(cx))? == 0 {
                return Poll::Ready(Ok(()));
            }
            if !std::mem::replace(&mut self.begun, true) {
                self.link.await_head();
            }
        }
    }

    /// Whether it makes sense to parse: a head that comes in many pieces must not be parsed for each of them.
    fn may_hold_head(&self) -> bool {
        if self.searched == 0 || self.read.len() >= usize::try_from(self.options.max_header_bytes).unwrap_or(usize::MAX)
        {
            return !self.read.is_empty();
        }
        let mut lines = self.read[self.searched.saturating_sub(3)..].split(|byte| *byte == b'\n');
        // The first is the end of a line that began before.
        lines.next();
        let mut lines = lines.peekable();
        while let Some(line) = lines.next() {
            if lines.peek().is_some() && matches!(line, b"" | b"\r") {
                return true;
            }
        }
        false
    }

    fn begin(&mut self, head: Head) {
        self.searched = 0;
        self.stand_in = head.stand_in;
        self.next = after(head.framing, head.keep_alive);
        self.link.begin(Arrival::Request(Box::new(head.arrived)));
    }

    fn refuse(&mut self, status: StatusCode) {
        self.stand_in = Bytes::from_static(REFUSED);
        self.next = Next::Nothing;
        self.link.begin(Arrival::Refused(status));
    }

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
        mut framing: Framing,
        keep_alive: bool,
    ) -> Poll<io::Result<()>> {
        if let Framing::Length(left) = &mut framing
            && self.read.is_empty()
            && u64::try_from(out.remaining()).is_ok_and(|room| room <= *left)
        {
            // Nothing beyond the body can come along: no need for the way through the buffer.
            let before = out.filled().len();
            ready!(Pin::new(&mut self.stream).poll_read(cx, out))?;
            let read = out.filled().len() - before;
            if read == 0 {
                return self.broken(BodyError::Incomplete);
            }
            *left -= read as u64;
        } else {
            if self.read.is_empty() && ready!(self.poll_more(cx))? == 0 {
                return self.broken(BodyError::Incomplete);
            }
            let most = self.read.len().min(out.remaining());
            let Ok(length) = framing.take(&self.read[..most]) else {
                let garbled = io::Error::new(io::ErrorKind::InvalidData, "the chunks of the body are malformed");
                return self.broken(BodyError::Transport(garbled.into()));
            };
            out.put_slice(&self.read[..length]);
            self.read.advance(length);
        }
        self.link.forget_continue();
        self.next = after(framing, keep_alive);
        if framing.is_over() {
            self.link.body_completed();
        }
        Poll::Ready(Ok(()))
    }

    /// Whoever reads the body is told. To actix-http it looks as if nothing came, so that the reply can still be written.
    fn broken(&mut self, error: BodyError) -> Poll<io::Result<()>> {
        self.next = Next::Nothing;
        self.link.break_body(error);
        self.link.next_is_there();
        Poll::Pending
    }

    /// Writes `100 Continue` if it is asked for. Between two of actix-http's own writes is the only time for it.
    fn poll_interim(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.flushed && self.link.take_continue() {
            self.interim = CONTINUE;
        }
        while !self.interim.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, self.interim))?;
            self.interim = &self.interim[written..];
        }
        Poll::Ready(Ok(()))
    }

    fn note(&mut self, all: bool, written: &Poll<io::Result<usize>>) {
        self.flushed = all;
        match written {
            Poll::Pending => self.link.write_stalled(),
            Poll::Ready(_) => self.link.write_moved(),
        }
    }
}

fn after(framing: Framing, keep_alive: bool) -> Next {
    match (framing.is_over(), keep_alive) {
        (false, keep_alive) => Next::Body { framing, keep_alive },
        (true, true) => Next::Head,
        (true, false) => Next::Nothing,
    }
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if let Poll::Ready(Err(error)) = self.poll_interim(cx) {
            return Poll::Ready(Err(error));
        }
        if self.stand_in.is_empty() {
            match self.next {
                Next::Head => ready!(self.poll_head(cx))?,
                Next::Body { framing, keep_alive } => return self.poll_body(cx, out, framing, keep_alive),
                Next::Nothing if self.link.is_in_flight() => return self.poll_gone(cx),
                // The last reply is written. actix-http, which may still wait for a body that broke, has to know.
                Next::Nothing => return Poll::Ready(Ok(())),
            }
        }
        let length = self.stand_in.len().min(out.remaining());
        out.put_slice(&self.stand_in.split_to(length));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if !self.interim.is_empty() {
            let interim = self.poll_interim(cx);
            if !interim.is_ready() {
                self.note(false, &Poll::Pending);
            }
            ready!(interim)?;
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        let all = matches!(written, Poll::Ready(Ok(length)) if length == bytes.len());
        self.note(all, &written);
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    /// Ends the server's own direction, then reads and forgets what the client still sends.
    ///
    /// Closing a socket with unread bytes in it makes the operating system reset the connection, and the reset may
    /// overtake the last reply: a client that uploads too much would never see its 413.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let Self {
            stream,
            link,
            read,
            linger,
            ..
        } = &mut *self;
        ready!(Pin::new(stream).poll_shutdown(cx))?;
        let linger = linger.get_or_insert_with(|| {
            link.await_nothing();
            Box::pin(sleep(LINGER))
        });
        if linger.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Ok(()));
        }
        read.clear();
        loop {
            match ready!(self.poll_more(cx)) {
                Ok(1..) => self.read.clear(),
                Ok(0) | Err(_) => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl Drop for Io {
    fn drop(&mut self) {
        if self.link.ends_with_a_reset() {
            let _ = self.stream.set_zero_linger();
        }
    }
}
