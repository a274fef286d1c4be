//! Runs the handler of one request until there is a reply.

use std::any::Any;
use std::future::{Future, pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use http::{HeaderValue, Response, StatusCode, header};

use super::body::Body;
use super::context::Context;
use super::finish::finish;
use super::handler::{Handler, HandlerFuture};
use super::reply::{Outcome, check_reply, error_reply};
use super::reply_cell::End;
use super::state::{Exchange, Extensions};
use crate::crash::panic_message;
use crate::{BoxFuture, Crash, CrashKind, Executor, Failure};

/// The future of one request.
pub(crate) enum Responding {
    /// The router itself answers; `None` once it did.
    Answer(Option<Response<Body>>),
    Handler(Dispatch),
}

impl Future for Responding {
    type Output = Response<Body>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Response<Body>> {
        match &mut *self {
            Self::Answer(answer) => answer.take().map_or(Poll::Pending, Poll::Ready),
            Self::Handler(dispatch) => {
                let reply = ready!(dispatch.poll(cx));
                dispatch.ended = true;
                Poll::Ready(finish(&dispatch.exchange.method, dispatch.conclude(reply)))
            }
        }
    }
}

/// Polls the handler where the request is polled, and watches for everything that may end it: its value, a reply from
/// elsewhere, the last holder's end, the deadline, a panic.
///
/// A handler that is done at the first poll costs no timer. One that replied and goes on working moves to the executor.
/// Dropping the dispatch, because the client went away, drops the handler and refuses later replies.
pub(crate) struct Dispatch {
    exchange: Arc<Exchange>,
    handler: Option<HandlerFuture>,
    executor: Arc<dyn Executor>,
    timer: Option<BoxFuture<'static, ()>>,
    arrived: Instant,
    ended: bool,
}

impl Dispatch {
    /// Calls the handler, which may panic before there is a future to poll.
    pub(crate) fn start(
        exchange: Arc<Exchange>,
        handler: &dyn Handler,
        executor: Arc<dyn Executor>,
        arrived: Instant,
    ) -> Self {
        let context = Context::first(&exchange);
        let call = AssertUnwindSafe(|| exchange.span.in_scope(|| handler.call(context)));
        let handler =
            catch_unwind(call).unwrap_or_else(|panic| Box::pin(ready(Outcome::Crashed(Box::new(panicked(&*panic))))));
        Self {
            exchange,
            handler: Some(handler),
            executor,
            timer: None,
            arrived,
            ended: false,
        }
    }

    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<End> {
        if let Some(end) = self.poll_handler(cx) {
            self.exchange.reply.close();
            return Poll::Ready(end);
        }
        match self.exchange.reply.poll(cx) {
            Poll::Ready(Some(end)) => {
                match &end {
                    Ok(reply) => self.let_the_handler_finish(reply),
                    Err(_) => self.handler = None,
                }
                return Poll::Ready(end);
            }
            // A handler may drop its context and return a value all the same.
            Poll::Ready(None) if self.handler.is_none() => {
                let message = "every holder of the context is gone and nobody replied";
                return Poll::Ready(Err(Crash::new(CrashKind::NoReply, message)));
            }
            Poll::Ready(None) | Poll::Pending => {}
        }
        ready!(self.poll_timer(cx));
        self.exchange.reply.close();
        self.handler = None;
        let crash = Crash::new(CrashKind::Deadline, "the deadline of the request passed").at_limit("deadline");
        Poll::Ready(Err(crash))
    }

    /// `Some` if the handler's end is the request's end.
    fn poll_handler(&mut self, cx: &mut TaskContext<'_>) -> Option<End> {
        let handler = self.handler.as_mut()?;
        let span = &self.exchange.span;
        let polled = catch_unwind(AssertUnwindSafe(|| span.in_scope(|| handler.as_mut().poll(cx))));
        let outcome = match polled {
            Ok(Poll::Pending) => return None,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(panic) => {
                // A future that panicked is not polled again, and its own drop may panic too.
                let broken = self.handler.take();
                let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
                return self.unless_replied(panicked(&*panic));
            }
        };
        self.handler = None;
        match outcome {
            Outcome::Deferred => None,
            Outcome::Crashed(crash) => self.unless_replied(*crash),
            // The value goes straight to the client; the cell only learns of it.
            Outcome::Reply(reply) => match check_reply(&reply).and_then(|()| self.exchange.reply.claim()) {
                Ok(()) => Some(Ok(reply)),
                Err(failure) => self.unless_replied(refused(&failure)),
            },
        }
    }

    /// A crash after the reply cannot change what the client gets; it is reported all the same.
    fn unless_replied(&self, crash: Crash) -> Option<End> {
        if !self.exchange.reply.has_reply() {
            return Some(Err(crash));
        }
        report(&self.exchange, crash);
        None
    }

    fn poll_timer(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        let Some(deadline) = self.exchange.caller.deadline() else {
            return Poll::Pending;
        };
        let timer = self.timer.get_or_insert_with(|| self.executor.sleep_until(deadline));
        timer.as_mut().poll(cx)
    }

    /// A handler may go on after it replied: it writes the body piece by piece, or cleans up. The body has the time that
    /// its client gives it; anything else has to end by the request's deadline.
    fn let_the_handler_finish(&mut self, reply: &Response<Body>) {
        let Some(handler) = self.handler.take() else { return };
        let streams = reply.body().known_length().is_none();
        let deadline = self.exchange.caller.deadline().filter(|_| !streams);
        let limit = deadline.map(|deadline| self.executor.sleep_until(deadline));
        let rest = finish_handler(handler, limit, self.exchange.clone());
        self.executor.spawn(Box::pin(rest));
    }

    /// The reply, reported if it is a crash, and logged.
    fn conclude(&self, end: End) -> Response<Body> {
        let exchange = &*self.exchange;
        let reply = end.unwrap_or_else(|crash| {
            let reply = crash_reply(&crash);
            report(exchange, crash);
            reply
        });
        tracing::info!(
            parent: &exchange.span,
            status = reply.status().as_u16(),
            micros = u64::try_from(self.arrived.elapsed().as_micros()).unwrap_or(u64::MAX),
            extensions = exchange.extensions.get().map(Extensions::to_line),
            "replied"
        );
        reply
    }
}

impl Drop for Dispatch {
    fn drop(&mut self) {
        if !self.ended {
            self.exchange.reply.close();
            tracing::debug!(parent: &self.exchange.span, "the client went away before the reply");
        }
    }
}

fn report(exchange: &Exchange, crash: Crash) {
    exchange.span.in_scope(|| exchange.caller.report(crash));
}

/// Runs a handler to its end after the reply, or to its limit.
async fn finish_handler(handler: HandlerFuture, limit: Option<BoxFuture<'static, ()>>, exchange: Arc<Exchange>) {
    let limit = limit.unwrap_or_else(|| Box::pin(pending()));
    let handler = AssertUnwindSafe(handler).catch_unwind();
    let crash = match select(handler, limit).await {
        Either::Left((Ok(Outcome::Deferred), _)) => return,
        Either::Left((Ok(Outcome::Reply(_)), _)) => refused(&Failure::already_replied()),
        Either::Left((Ok(Outcome::Crashed(crash)), _)) => *crash,
        Either::Left((Err(panic), _)) => panicked(&*panic),
        Either::Right(_) => {
            let message = "the handler went on after its reply and past the deadline";
            Crash::new(CrashKind::Deadline, message).at_limit("deadline")
        }
    };
    report(&exchange, crash);
}

fn panicked(panic: &(dyn Any + Send)) -> Crash {
    let message = format!("the handler panicked: {}", panic_message(panic));
    Crash::new(CrashKind::Panic, message)
}

fn refused(failure: &Failure) -> Crash {
    Crash::new(CrashKind::Reply, format!("the handler's reply was refused: {failure}"))
}

/// The client's reply for a crash: the status, without any detail.
fn crash_reply(crash: &Crash) -> Response<Body> {
    let mut reply = error_reply(crash.kind.status(), crash.kind.public_message());
    if reply.status() == StatusCode::SERVICE_UNAVAILABLE {
        reply
            .headers_mut()
            .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    reply
}
