//! Runs one handler until its request has a reply.

use std::any::Any;
use std::future::{Future, pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use http::Response;

use crate::events::bus::panic_message;
use crate::exchange::context::check_reply;
use crate::exchange::reply_cell::{Arrival, ReplyCell};
use crate::exchange::router::{Desk, HandlerFuture, Kept};
use crate::{Body, BoxFuture, Crash, CrashKind, Failure, Outcome};

/// What became of a request.
#[derive(Debug)]
pub(crate) enum End {
    Reply(Response<Body>),
    Crashed(Crash),
}

/// Polls the handler where the request is polled, and looks after everything that may end it: its value, a reply from
/// elsewhere, the last holder's end, the deadline, a panic.
///
/// A handler that is done at the first poll costs no timer. One that replied and goes on working moves to the executor.
/// Dropping the drive, because the client went away, drops the handler and refuses later replies.
pub(crate) struct Dispatch<'a> {
    desk: &'a Desk<'a>,
    handler: Option<HandlerFuture>,
    slot: Arc<ReplyCell>,
    deadline: Option<Instant>,
    timer: Option<BoxFuture<'static, ()>>,
    span: tracing::Span,
    ended: bool,
}

impl<'a> Dispatch<'a> {
    /// Calls the handler, which may panic before there is a future to poll.
    pub(crate) fn start(
        call: impl FnOnce() -> HandlerFuture,
        slot: Arc<ReplyCell>,
        deadline: Option<Instant>,
        desk: &'a Desk<'a>,
        span: &tracing::Span,
    ) -> Self {
        let handler = catch_unwind(AssertUnwindSafe(|| span.in_scope(call)))
            .unwrap_or_else(|panic| Box::pin(ready(Outcome::Crashed(Box::new(panicked(&*panic))))));
        Self {
            handler: Some(handler),
            slot,
            deadline,
            timer: None,
            desk,
            span: span.clone(),
            ended: false,
        }
    }

    /// `Some` if the handler's end is the request's end.
    fn poll_handler(&mut self, cx: &mut TaskContext<'_>) -> Option<End> {
        let handler = self.handler.as_mut()?;
        let span = self.span.clone();
        let polled = catch_unwind(AssertUnwindSafe(|| span.in_scope(|| handler.as_mut().poll(cx))));
        let outcome = match polled {
            Ok(Poll::Pending) => return None,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(panic) => {
                // What panicked is not polled again, and its own drop may panic too.
                let broken = self.handler.take();
                let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
                return self.unless_replied(panicked(&*panic));
            }
        };
        self.handler = None;
        match outcome {
            Outcome::Deferred => None,
            Outcome::Crashed(crash) => self.unless_replied(*crash),
            // It goes straight to the client; the slot is only told.
            Outcome::Reply(reply) => match check_reply(&reply).and_then(|()| self.slot.claim()) {
                Ok(()) => Some(End::Reply(reply)),
                Err(failure) => self.unless_replied(refused(&failure)),
            },
        }
    }

    /// A crash after the reply cannot change what the client gets; it is reported all the same.
    fn unless_replied(&self, crash: Crash) -> Option<End> {
        if !self.slot.has_reply() {
            return Some(End::Crashed(crash));
        }
        self.span.in_scope(|| self.desk.report(crash));
        None
    }

    fn poll_timer(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        let Some(deadline) = self.deadline else {
            return Poll::Pending;
        };
        self.timer
            .get_or_insert_with(|| self.desk.router.executor().sleep_until(deadline))
            .as_mut()
            .poll(cx)
    }

    fn end(&mut self, end: End) -> Poll<End> {
        self.ended = true;
        Poll::Ready(end)
    }

    /// A handler may go on after it replied: it writes the body piece by piece, or tidies up. The body has the time that
    /// its client gives it; anything else has to end by the request's deadline.
    fn let_the_handler_finish(&mut self, reply: &Response<Body>) {
        let Some(handler) = self.handler.take() else { return };
        let executor = self.desk.router.executor();
        let streams = reply.body().known_length().is_none();
        let limit = self
            .deadline
            .filter(|_| !streams)
            .map(|deadline| executor.sleep_until(deadline));
        executor.spawn(Box::pin(finish(handler, limit, self.desk.keep(), self.span.clone())));
    }
}

impl Future for Dispatch<'_> {
    type Output = End;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<End> {
        if let Some(end) = self.poll_handler(cx) {
            self.slot.close();
            return self.end(end);
        }
        match self.slot.poll(cx) {
            Poll::Ready(Arrival::Reply(reply)) => {
                self.let_the_handler_finish(&reply);
                return self.end(End::Reply(reply));
            }
            Poll::Ready(Arrival::Crashed(crash)) => {
                self.handler = None;
                return self.end(End::Crashed(*crash));
            }
            // A handler may let go of its context and return a value all the same.
            Poll::Ready(Arrival::Abandoned) if self.handler.is_none() => {
                let message = "every holder of the context is gone and nobody replied";
                return self.end(End::Crashed(Crash::new(CrashKind::NoReply, message)));
            }
            Poll::Ready(Arrival::Abandoned) | Poll::Pending => {}
        }
        if self.poll_timer(cx).is_ready() {
            self.slot.close();
            self.handler = None;
            let crash = Crash::new(CrashKind::Deadline, "the deadline of the request passed").at_limit("deadline");
            return self.end(End::Crashed(crash));
        }
        Poll::Pending
    }
}

impl Drop for Dispatch<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.slot.close();
            tracing::debug!(parent: &self.span, "the client went away before the reply");
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Crash {
    Crash::new(
        CrashKind::Panic,
        format!("the handler panicked: {}", panic_message(panic)),
    )
}

/// Runs a handler to its end after the reply, or to its limit.
async fn finish(handler: HandlerFuture, limit: Option<BoxFuture<'static, ()>>, desk: Kept, span: tracing::Span) {
    let limit = limit.unwrap_or_else(|| Box::pin(pending()));
    let handler = AssertUnwindSafe(handler).catch_unwind();
    let crash = match select(handler, limit).await {
        Either::Left((Ok(Outcome::Deferred), _)) => return,
        Either::Left((Ok(Outcome::Reply(_)), _)) => refused(&Failure::already_replied()),
        Either::Left((Ok(Outcome::Crashed(crash)), _)) => *crash,
        Either::Left((Err(panic), _)) => panicked(&*panic),
        Either::Right(_) => Crash::new(
            CrashKind::Deadline,
            "the handler went on after its reply and past the deadline",
        )
        .at_limit("deadline"),
    };
    span.in_scope(|| desk.report(crash));
}

fn refused(failure: &Failure) -> Crash {
    Crash::new(CrashKind::Reply, format!("the handler's reply was refused: {failure}"))
}
