//! What may end a connection from outside.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::time::{Sleep, sleep_until};

use crate::connections::{Entry, Phase};
use crate::link::Link;

/// Looks after one connection: the server's end, and the times noted in its [`Link`].
pub(crate) struct Watch {
    entry: Entry,
    told_to_drain: bool,
    timer: Option<Pin<Box<Sleep>>>,
}

/// Why a connection has to close now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// The server ends, and nothing is under way.
    Idle,
    /// The server ends, and waits for nothing any more.
    Cut,
    /// The client took too long to send its first byte or a head, or sent none for too long.
    HeadLate,
    /// The client took none of a reply for too long.
    WriteLate,
}

impl Watch {
    pub(crate) fn new(entry: Entry) -> Self {
        Self {
            entry,
            told_to_drain: false,
            timer: None,
        }
    }

    fn link(&self) -> &Arc<Link> {
        &self.entry.link
    }

    /// Poll it before the connection itself, which reads the phase too.
    pub(crate) fn poll_phase(&mut self, cx: &mut Context<'_>) -> Poll<Alarm> {
        self.link().waker.register(cx.waker());
        match self.link().phase() {
            Phase::Serving => Poll::Pending,
            Phase::Cut => Poll::Ready(Alarm::Cut),
            Phase::Draining => {
                let first = !std::mem::replace(&mut self.told_to_drain, true);
                if first && !self.link().is_in_flight() && !self.link().is_stalled() {
                    Poll::Ready(Alarm::Idle)
                } else {
                    Poll::Pending
                }
            }
        }
    }

    /// Poll it after the connection itself, which may have noted another time.
    ///
    /// The timer is set anew only when it fired, or when something is due before it: nearly never for a connection whose
    /// requests follow each other.
    pub(crate) fn poll_times(&mut self, cx: &mut Context<'_>) -> Poll<Alarm> {
        loop {
            let Some(due) = self.entry.link.due() else {
                return Poll::Pending;
            };
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due.into())));
            if timer.deadline().into_std() > due {
                timer.as_mut().reset(due.into());
            }
            ready!(timer.as_mut().poll(cx));
            if Instant::now() >= due {
                return Poll::Ready(if self.link().is_stalled() {
                    Alarm::WriteLate
                } else {
                    Alarm::HeadLate
                });
            }
            timer.as_mut().reset(due.into());
        }
    }
}
