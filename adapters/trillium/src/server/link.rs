//! The receiving side of one connection, which trillium, the handler and the request's body share.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use futures_util::task::AtomicWaker;
use pointwork_core::BodyError;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::OwnedReadHalf;

use super::connections::{Connections, Phase};
use super::framing::{Framing, Step};
use super::head::Head;
use super::streams::Streams;

/// How much is read at a time; nearly every request fits.
const READ: usize = 8 * 1024;

/// How much a client may send ahead while its request is worked on, before nobody looks any more whether it is there.
const AHEAD: usize = 64 * 1024;

const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// What the parts of one connection share.
#[derive(Debug)]
pub(crate) struct Link {
    connections: Arc<Connections>,
    /// The connection's task, for when the server's phase changes.
    waker: Arc<AtomicWaker>,
    /// The connection's task, for when the body is read to its end.
    body_over: AtomicWaker,
    reply_broken: AtomicBool,
    /// What concerns HTTP/2 alone.
    pub(crate) streams: Streams,
    receiver: Mutex<Receiver>,
}

/// The receiving half of the socket, and what came over it.
#[derive(Debug)]
pub(crate) struct Receiver {
    /// `None` once the connection is over; a body may be kept for longer.
    half: Option<OwnedReadHalf>,
    pub(crate) buffer: BytesMut,
    /// The client has closed its side, or the connection broke.
    pub(crate) ended: bool,
    /// How much of the buffer holds no end of a head.
    scanned: usize,
    framing: Framing,
    /// How much of [`CONTINUE`] is still to be sent.
    to_continue: &'static [u8],
    /// The client waited to be told to go on, and got its reply.
    untold: bool,
    /// The number of the request that is worked on.
    request: u64,
    /// The head that trillium is about to hand to the handler.
    pub(crate) head: Option<Box<Head>>,
}

impl Link {
    pub(crate) fn new(half: OwnedReadHalf, connections: Arc<Connections>, waker: Arc<AtomicWaker>) -> Self {
        Self {
            connections,
            waker,
            body_over: AtomicWaker::new(),
            reply_broken: AtomicBool::new(false),
            streams: Streams::default(),
            receiver: Mutex::new(Receiver {
                half: Some(half),
                buffer: BytesMut::new(),
                ended: false,
                scanned: 0,
                framing: Framing::Over,
                to_continue: b"",
                untold: false,
                request: 0,
                head: None,
            }),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Receiver> {
        // A panic while it is held leaves nothing half done that matters: the connection ends with its task.
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake(&self) {
        self.waker.wake();
    }

    pub(crate) fn phase(&self, cx: &Context<'_>) -> Phase {
        self.waker.register(cx.waker());
        self.connections.phase()
    }

    /// A reply ended before its end: in HTTP/1.0 the end of the connection alone would look like its end.
    pub(crate) fn reply_broke_off(&self) {
        self.reply_broken.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_reply_broken(&self) -> bool {
        self.reply_broken.load(Ordering::Relaxed)
    }

    /// Completes when nobody waits for the reply any more, or nobody may: for the task of the connection.
    ///
    /// While the request has a body that is not read to its end, only the reading of it can tell.
    pub(crate) fn poll_gone(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.phase(cx) == Phase::Cut {
            return Poll::Ready(());
        }
        self.body_over.register(cx.waker());
        let mut receiver = self.lock();
        if !matches!(receiver.framing, Framing::Over) {
            return Poll::Pending;
        }
        while !receiver.ended {
            if receiver.buffer.len() >= AHEAD {
                return Poll::Pending;
            }
            ready!(receiver.poll_fill(cx));
        }
        Poll::Ready(())
    }

    /// The next step of the body of a request, named by its number: for whoever has it.
    pub(crate) fn poll_body(&self, request: u64, cx: &mut Context<'_>) -> Poll<Result<Step, BodyError>> {
        let mut receiver = self.lock();
        if receiver.request != request {
            // The reply is out, and the connection went on.
            return Poll::Ready(Err(BodyError::Incomplete));
        }
        let step = receiver.poll_body(cx);
        let over = matches!(receiver.framing, Framing::Over);
        drop(receiver);
        if over {
            self.body_over.wake();
        }
        step
    }

    /// Takes the socket away from whoever still has the body.
    pub(crate) fn take_half(&self) -> Option<OwnedReadHalf> {
        self.lock().half.take()
    }
}

impl Receiver {
    /// Reads what is there, once. An error counts as the end.
    pub(crate) fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(half) = &mut self.half else {
            self.ended = true;
            return Poll::Ready(());
        };
        loop {
            ready!(half.as_ref().poll_read_ready(cx)).unwrap_or_default();
            self.buffer.reserve(READ);
            match half.try_read_buf(&mut self.buffer) {
                Ok(0) => self.ended = true,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(_) => self.ended = true,
            }
            return Poll::Ready(());
        }
    }

    /// What came, for a protocol that trillium reads by itself.
    pub(crate) fn poll_raw(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        if self.buffer.is_empty() {
            let Some(half) = &mut self.half else {
                return Poll::Ready(Ok(0));
            };
            let mut buf = ReadBuf::new(buf);
            ready!(Pin::new(half).poll_read(cx, &mut buf))?;
            return Poll::Ready(Ok(buf.filled().len()));
        }
        let length = self.buffer.len().min(buf.len());
        buf[..length].copy_from_slice(&self.buffer[..length]);
        self.buffer.advance(length);
        Poll::Ready(Ok(length))
    }

    /// Whether it is worth it to look for the end of a head. A head that comes byte by byte must not be read anew for
    /// each of them.
    pub(crate) fn may_hold_a_head(&mut self, most: u32) -> bool {
        let from = self.scanned.saturating_sub(3);
        let first = self.scanned == 0;
        self.scanned = self.buffer.len();
        let new = &self.buffer[from.min(self.buffer.len())..];
        first && !new.is_empty()
            || new.windows(2).any(|two| two == b"\n\n")
            || new.windows(3).any(|three| three == b"\n\r\n")
            || u32::try_from(self.buffer.len()).is_ok_and(|length| length > most)
    }

    /// The request that a head begins.
    pub(crate) fn begin(&mut self, head: Head) {
        self.scanned = 0;
        self.untold = false;
        self.to_continue = if head.expects_100 { CONTINUE } else { b"" };
        self.head = Some(Box::new(head));
    }

    /// Hands the request over: from now on its body is waited for.
    pub(crate) fn take_head(&mut self) -> Option<(Box<Head>, u64)> {
        let mut head = self.head.take()?;
        self.framing = std::mem::replace(&mut head.framing, Framing::Over);
        Some((head, self.request))
    }

    /// Whether the request's body is read to its end, or comes to it with what has arrived already.
    pub(crate) fn settle(&mut self, cx: &mut Context<'_>) -> bool {
        self.request += 1;
        // Who was told nothing sends nothing.
        if let Some(head) = self.head.take() {
            self.framing = head.framing;
        }
        if (self.untold || !self.to_continue.is_empty()) && !matches!(self.framing, Framing::Over) {
            return false;
        }
        loop {
            match self.framing {
                Framing::Over => return true,
                Framing::Unclear => return false,
                _ => {}
            }
            match self.framing.next(&mut self.buffer) {
                Ok(Step::Data(_) | Step::End) => {}
                Ok(Step::More) if !self.ended && self.buffer.len() < AHEAD && self.poll_fill(cx).is_ready() => {}
                _ => return false,
            }
        }
    }

    /// The reply begins: it is too late to tell the client to go on, and nobody knows whether it will send its body.
    pub(crate) fn reply_begins(&mut self) {
        self.untold = !self.to_continue.is_empty();
        self.to_continue = b"";
    }

    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Result<Step, BodyError>> {
        loop {
            match self.framing.next(&mut self.buffer) {
                Ok(Step::More) => {}
                Ok(step) => return Poll::Ready(Ok(step)),
                Err(malformed) => {
                    self.framing = Framing::Unclear;
                    return Poll::Ready(Err(BodyError::Transport(malformed.into())));
                }
            }
            if self.ended {
                return Poll::Ready(Err(BodyError::Incomplete));
            }
            ready!(self.poll_continue(cx));
            ready!(self.poll_fill(cx));
        }
    }

    /// Tells the client to go on, if it waits for that.
    fn poll_continue(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(half) = &self.half else {
            return Poll::Ready(());
        };
        let stream = half.as_ref();
        while !self.to_continue.is_empty() {
            match stream.try_write(self.to_continue) {
                Ok(written) => self.to_continue = &self.to_continue[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if ready!(stream.poll_write_ready(cx)).is_err() {
                        self.to_continue = b"";
                    }
                }
                Err(_) => self.to_continue = b"",
            }
        }
        Poll::Ready(())
    }
}
