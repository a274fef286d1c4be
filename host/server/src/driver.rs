//! Driving a connection to its end, within its deadlines.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper_util::server::graceful::GracefulConnection;
use pointwork_core::adapter::Timer;

use crate::state::ConnectionState;

/// Drives one connection: it ends it when the server shuts down, or when a deadline of its [`ConnectionState`] is over.
pub(crate) struct Driver {
    pub(crate) state: Arc<ConnectionState>,
    /// The server shut down while the connection waited for a head.
    pub(crate) drained_idle: bool,
    timer: Timer,
}

/// A reason to change the course of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// The server shuts down. Comes once.
    Drain,
    /// The client took too long to send its first byte or a head, or was idle for too long.
    HeadLate,
    /// The client took none of a reply for too long.
    WriteLate,
}

impl Driver {
    pub(crate) fn new(state: Arc<ConnectionState>) -> Self {
        Self {
            drained_idle: false,
            timer: Timer::new(state.timers.clone()),
            state,
        }
    }

    /// Poll it after the connection itself, which may have set another deadline.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Interruption> {
        self.state.waker.register(cx.waker());
        if self.state.take_drain() {
            return Poll::Ready(Interruption::Drain);
        }
        ready!(self.timer.poll(cx, self.state.deadlines.current()));
        Poll::Ready(if self.state.deadlines.is_stalled() {
            Interruption::WriteLate
        } else {
            Interruption::HeadLate
        })
    }

    /// Polls a connection to its end; `None` if it is late and has to be cut.
    ///
    /// With `closes_first` a late client gets the GOAWAY of HTTP/2, and one more header timeout, before it is cut.
    pub(crate) async fn drive<C: GracefulConnection>(
        &mut self,
        mut connection: Pin<&mut C>,
        mut closes_first: bool,
    ) -> Option<Result<(), C::Error>> {
        poll_fn(|cx| {
            loop {
                if let Poll::Ready(result) = connection.as_mut().poll(cx) {
                    return Poll::Ready(Some(result));
                }
                match ready!(self.poll(cx)) {
                    Interruption::Drain => {
                        self.drained_idle = self.state.deadlines.awaits_head();
                        connection.as_mut().graceful_shutdown();
                    }
                    Interruption::HeadLate if self.state.has_open_streams() => self.state.deadlines.await_nothing(),
                    Interruption::HeadLate if closes_first => {
                        closes_first = false;
                        connection.as_mut().graceful_shutdown();
                        self.state.deadlines.await_head();
                    }
                    Interruption::HeadLate | Interruption::WriteLate => {
                        tracing::debug!("a connection was cut: its client took too long");
                        return Poll::Ready(None);
                    }
                }
            }
        })
        .await
    }
}
