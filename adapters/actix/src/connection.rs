//! One connection: its socket, and its timer.

use std::fmt::Display;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use pointwork_core::adapter::{Framing, Timer};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;

use crate::state::ConnectionState;

/// The socket of a connection, which notes each read and write, and spoils a request with two framings (see [`Framing`]).
pub(crate) struct Io {
    pub(crate) stream: TcpStream,
    pub(crate) state: Rc<ConnectionState>,
    pub(crate) framing: Framing,
}

impl AsyncRead for Io {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = out.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, out))?;
        self.framing.follow(&mut out.filled_mut()[before..]);
        self.state.note_read(out.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Io {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.state.deadlines.note_write(written.is_ready());
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        if self.state.may_shut_down() {
            let _ = Pin::new(&mut self.stream).poll_shutdown(cx);
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

impl Drop for Io {
    fn drop(&mut self) {
        if self.state.has_to_reset() {
            let _ = self.stream.set_zero_linger();
        }
    }
}

/// A running connection: actix-http's own future for it, and the timer that ends it.
pub(crate) struct Connection<H> {
    http: Pin<Box<H>>,
    state: Rc<ConnectionState>,
    timer: Timer,
    /// Counts the connection among the open ones.
    _open: watch::Receiver<()>,
}

impl<H> Connection<H> {
    pub(crate) fn new(http: H, state: Rc<ConnectionState>, open: watch::Receiver<()>) -> Self {
        Self {
            http: Box::pin(http),
            timer: Timer::new(state.timers.clone()),
            state,
            _open: open,
        }
    }
}

impl<H, E> Future for Connection<H>
where
    H: Future<Output = Result<(), E>>,
    E: Display,
{
    type Output = Result<(), ()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), ()>> {
        let this = &mut *self;
        // First, since it sets the deadlines.
        if let Poll::Ready(end) = this.http.as_mut().poll(cx) {
            if let Err(error) = end {
                tracing::debug!("a connection ended: {error}");
            }
        } else if !this.state.is_abandoned() {
            ready!(this.timer.poll(cx, this.state.deadlines.current()));
            tracing::debug!("a connection was cut: its client took too long");
        }
        Poll::Ready(Ok(()))
    }
}
