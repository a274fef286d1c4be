//! What may end a connection from outside.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use tokio::time::{Sleep, sleep_until};

use crate::link::Link;

/// Looks after one connection: the server's end, and the times noted in its [`Link`].
pub(crate) struct Watch {
    link: Arc<Link>,
    timer: Option<Pin<Box<Sleep>>>,
}

/// Why a connection has to change its course.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alarm {
    /// End what is in flight, then close. Comes once.
    Drain,
    /// The client took too long to send its first byte or a head, or sent none for too long.
    HeadLate,
    /// The client took none of a reply for too long.
    WriteLate,
}

impl Watch {
    pub(crate) fn new(link: Arc<Link>) -> Self {
        Self { link, timer: None }
    }

    pub(crate) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Poll it after the connection itself, which may have noted another time.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Alarm> {
        self.link.waker.register(cx.waker());
        if self.link.take_drain() {
            return Poll::Ready(Alarm::Drain);
        }
        ready!(self.poll_timer(cx));
        Poll::Ready(if self.link.is_stalled() {
            Alarm::WriteLate
        } else {
            Alarm::HeadLate
        })
    }

    /// The timer is set anew only when it fired, or when something is due before it: nearly never for a connection whose
    /// requests follow each other.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let Some(due) = self.link.due() else {
                return Poll::Pending;
            };
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due.into())));
            if timer.deadline().into_std() > due {
                timer.as_mut().reset(due.into());
            }
            ready!(timer.as_mut().poll(cx));
            if Instant::now() >= due {
                return Poll::Ready(());
            }
            timer.as_mut().reset(due.into());
        }
    }
}
