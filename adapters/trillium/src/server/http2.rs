//! The socket of a connection of HTTP/2: trillium reads and writes the frames, and this keeps the limits that it lacks.

use std::io;
use std::task::{Context, Poll, ready};

use super::connections::Phase;
use super::frames::{self, Frames, Reason};
use super::io::Io;

/// What a connection of HTTP/2 has beside the rest.
#[derive(Debug)]
pub(super) struct Http2 {
    received: Frames,
    sent: Frames,
    /// Frames of the adapter's own, which are being written.
    own: Vec<u8>,
    /// Whether the time for the next request runs.
    idle: bool,
    /// Why the connection ends, once it does.
    ending: Option<Reason>,
}

impl Default for Http2 {
    fn default() -> Self {
        Self {
            received: Frames::from_client(),
            sent: Frames::default(),
            own: Vec::new(),
            idle: false,
            ending: None,
        }
    }
}

impl Io {
    pub(super) fn poll_read_http2(&mut self, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        if self.link.phase(cx) == Phase::Cut {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        if let Poll::Ready(Err(error)) = self.poll_own(cx) {
            return Poll::Ready(Err(error));
        }
        if self.http2.ending.is_none() {
            let read = self.link.lock().poll_raw(cx, buf);
            if let Poll::Ready(Ok(0) | Err(_)) = read {
                // trillium waits for the handlers in flight, which nobody waits for.
                self.link.streams.end();
            } else if let Poll::Ready(Ok(length)) = read {
                self.http2.received.pass(&buf[..length]);
                let resets = self.http2.received.take_resets();
                if !resets.is_empty() && self.link.streams.took_back(&resets) > self.options().http2.max_faulty_streams
                {
                    tracing::debug!("a client took too many requests back");
                    self.end(Reason::EnhanceYourCalm);
                }
            } else if read.is_pending() && self.is_idle_for_long(cx) {
                self.end(Reason::NoError);
            }
            if self.http2.ending.is_none() {
                return read;
            }
        }
        let _ = ready!(self.poll_own(cx));
        match self.http2.ending {
            // trillium would wait for the requests in flight.
            Some(Reason::EnhanceYourCalm) => Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into())),
            _ => Poll::Ready(Ok(0)),
        }
    }

    fn end(&mut self, reason: Reason) {
        self.http2.ending = Some(reason);
        if self.http2.own.is_empty() && self.http2.sent.at_boundary() {
            self.http2.own = frames::goaway(reason).to_vec();
        }
    }

    pub(super) fn poll_write_http2(&mut self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_own(cx))?;
        let written = ready!(self.poll_send(cx, buf));
        if let Ok(length) = written {
            self.http2.sent.pass(&buf[..length]);
            // A reply that is under way is not idle, although its handler is long done.
            self.http2.idle = false;
        }
        Poll::Ready(written)
    }

    /// Writes frames of the adapter's own, between two of trillium's.
    fn poll_own(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.http2.own.is_empty() && self.http2.sent.at_boundary() {
            self.http2.own = self.link.streams.take_frames();
        }
        while !self.http2.own.is_empty() {
            let own = std::mem::take(&mut self.http2.own);
            let written = self.poll_send(cx, &own);
            self.http2.own = own;
            let length = ready!(written)?;
            self.http2.own.drain(..length);
        }
        Poll::Ready(Ok(()))
    }

    fn is_idle_for_long(&mut self, cx: &mut Context<'_>) -> bool {
        if self.link.streams.any() {
            self.http2.idle = false;
            self.alarm.clear();
        } else if !self.http2.idle {
            self.http2.idle = true;
            let wait = self.options().header_timeout;
            self.alarm.set(wait);
        }
        self.alarm.poll(cx).is_ready()
    }
}
