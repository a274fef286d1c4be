//! Runs the handler of one request until there is a reply.

use std::any::Any;
use std::future::{Future, pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, ready};

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use http::Response;

use super::body::Body;
use super::body_reader::{Collect, overloaded};
use super::context::Context;
use super::end_gate::EndGate;
use super::handler::{Handler, HandlerFuture, Outcome, check_reply, failure_reply};
use super::reply_cell::End;
use super::state::{Exchange, OngoingCall};
use crate::crash::panic_message;
use crate::events::chain::RequestOrigin;
use crate::executor::FOREVER;
use crate::{BoxFuture, Crash, CrashKind, Executor, Failure, Shard};

/// Polls the handler where the request is polled, and watches for everything that may end it: its value, a reply from
/// elsewhere, the last holder's end, the deadline, a panic. Before that, it collects the body of a handler that takes it
/// whole.
///
/// A handler that is done at the first poll costs no timer. One that replied and goes on working moves to the executor.
/// Dropping the dispatch, because the client went away, drops the handler and refuses later replies.
pub(crate) struct Dispatch {
    exchange: OngoingCall,
    work: Work,
    executor: Shard<Arc<dyn Executor>>,
    timer: Option<BoxFuture<'static, ()>>,
    ended: bool,
    /// The reply, while it waits for the store of its events.
    unrecorded: Option<BoxFuture<'static, Response<Body>>>,
}

enum Work {
    /// The body arrives; the handler is called when it is whole.
    Collecting(Collect, Arc<dyn Handler>),
    Handling(HandlerFuture),
    /// The handler has ended, or goes on elsewhere.
    Done,
}

impl Dispatch {
    /// Calls the handler.
    pub(crate) fn start(exchange: Arc<Exchange>, handler: &dyn Handler, executor: Shard<Arc<dyn Executor>>) -> Self {
        let exchange = OngoingCall::begin(exchange);
        let work = Work::start(&exchange, handler);
        Self::new(exchange, work, executor)
    }

    /// Collects the body first.
    pub(crate) fn collect(
        exchange: Arc<Exchange>,
        body: Collect,
        handler: Arc<dyn Handler>,
        executor: Shard<Arc<dyn Executor>>,
    ) -> Self {
        Self::new(OngoingCall::begin(exchange), Work::Collecting(body, handler), executor)
    }

    fn new(exchange: OngoingCall, work: Work, executor: Shard<Arc<dyn Executor>>) -> Self {
        Self {
            exchange,
            work,
            executor,
            timer: None,
            ended: false,
            unrecorded: None,
        }
    }

    fn poll_end(&mut self, cx: &mut TaskContext<'_>) -> Poll<End> {
        if let Some(end) = self.poll_body(cx).or_else(|| self.poll_handler(cx)) {
            self.exchange.reply.close();
            return Poll::Ready(end);
        }
        match self.exchange.reply.poll(cx) {
            Poll::Ready(Some(end)) => {
                match &end {
                    Ok(reply) => self.let_the_handler_finish(reply),
                    Err(_) => self.work = Work::Done,
                }
                return Poll::Ready(end);
            }
            // A handler may drop its context and return a value all the same.
            Poll::Ready(None) if matches!(self.work, Work::Done) => {
                let message = "every holder of the context is gone and nobody replied";
                return Poll::Ready(Err(Crash::new(CrashKind::NoReply, message)));
            }
            Poll::Ready(None) | Poll::Pending => {}
        }
        ready!(self.poll_timer(cx));
        self.exchange.reply.close();
        self.work = Work::Done;
        Poll::Ready(Err(match self.exchange.caller.bus.upgrade() {
            Ok(_) => Crash::new(CrashKind::Deadline, "the deadline of the request passed").at_limit("deadline"),
            Err(gone) => Crash::new(CrashKind::Limit, gone.message()).at_limit("drain"),
        }))
    }

    /// Calls the handler when the body is there; `Some` if the body broke off, which ends the request.
    fn poll_body(&mut self, cx: &mut TaskContext<'_>) -> Option<End> {
        let Work::Collecting(body, handler) = &mut self.work else {
            return None;
        };
        let Poll::Ready(result) = Pin::new(body).poll(cx) else {
            return None;
        };
        let (caller, body_limits) = (&self.exchange.caller, self.exchange.body_limits);
        let checked = self.exchange.span.in_scope(|| {
            let (bytes, charge) = result.map_err(|error| body_limits.failed(&error, Some(caller)))?;
            body_limits.check_values(&bytes, Some(caller))?;
            Ok((bytes, charge))
        });
        let put = checked.and_then(|(bytes, charge)| {
            let needed = "the request bodies that the module was given and has not taken need";
            let put = self.exchange.put_body(bytes, charge);
            put.map_err(|exceeded| overloaded(needed, exceeded, Some(caller)))
        });
        self.work = match put {
            Ok(()) => Work::start(&self.exchange, &*handler.clone()),
            Err(failure) => {
                self.work = Work::Done;
                return Some(Ok(failure_reply(&failure)));
            }
        };
        None
    }

    /// `Some` if the handler's end is the request's end.
    fn poll_handler(&mut self, cx: &mut TaskContext<'_>) -> Option<End> {
        let Work::Handling(handler) = &mut self.work else {
            return None;
        };
        let span = &self.exchange.span;
        let polled = catch_unwind(AssertUnwindSafe(|| span.in_scope(|| handler.as_mut().poll(cx))));
        let outcome = match polled {
            Ok(Poll::Pending) => return None,
            Ok(Poll::Ready(outcome)) => outcome,
            Err(panic) => {
                // A future that panicked is not polled again, and its own drop may panic too.
                let broken = std::mem::replace(&mut self.work, Work::Done);
                let _ = catch_unwind(AssertUnwindSafe(|| drop(broken)));
                return self.unless_replied(panicked(&*panic));
            }
        };
        self.work = Work::Done;
        match outcome {
            Outcome::Deferred => None,
            Outcome::Crashed(crash) => self.unless_replied(*crash),
            // The host ended the request before the handler did: the cell has the crash.
            Outcome::Reply(_) if self.exchange.reply.is_crashed() => None,
            // The value goes straight to the client; the cell only learns of it.
            Outcome::Reply(reply) => match check_reply(&reply).and_then(|()| self.exchange.reply.reserve()) {
                Ok(()) => Some(Ok(reply)),
                Err(_) if self.exchange.break_reply_off() => None,
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
        // Without a deadline the timer ends with the executor.
        let deadline = || self.exchange.caller.deadline();
        let deadline = || deadline().unwrap_or_else(|| self.executor.now() + FOREVER);
        let timer = self.timer.get_or_insert_with(|| self.executor.sleep_until(deadline()));
        timer.as_mut().poll(cx)
    }

    /// A handler may go on after it replied: it writes the body chunk by chunk, or cleans up. The body has the time that
    /// its client gives it; anything else has to end by the request's deadline.
    fn let_the_handler_finish(&mut self, reply: &Response<Body>) {
        let Work::Handling(handler) = std::mem::replace(&mut self.work, Work::Done) else {
            return;
        };
        let streams = reply.body().known_length().is_none();
        let deadline = self.exchange.caller.deadline().filter(|_| !streams);
        let limit = deadline.map(|deadline| self.executor.sleep_until(deadline));
        let rest = finish_handler(handler, limit, OngoingCall::begin(self.exchange.clone()));
        self.executor.spawn(Box::pin(rest));
    }

    /// The reply, with the crashes of the request if it failed by them and they are shown.
    fn with_crashes(&self, reply: Response<Body>) -> Response<Body> {
        let RequestOrigin { crashes, route, .. } = self.exchange.origin();
        match crashes.as_ref().filter(|_| reply.status().is_server_error()) {
            Some(crashes) => reply.map(|body| match body.try_into_bytes() {
                Ok(bytes) => {
                    let notice = self.exchange.caller.bus.upgrade().ok().and_then(|bus| bus.notice());
                    let shown = crashes.shown_in(&bytes, route, notice.as_deref());
                    shown.map_or(bytes.into(), Body::from)
                }
                Err(body) => body,
            }),
            None => reply,
        }
    }

    /// The reply as the adapter gets it.
    fn finished(&self, reply: Response<Body>) -> Response<Body> {
        let mut reply = self.exchange.finish(reply, self.executor.now());
        if let Some(gate) = &self.exchange.caller.chain.gate {
            reply.body_mut().end_after(EndGate::new(gate.clone(), &self.executor));
        }
        if let Some(timeout) = self.exchange.write_timeout {
            reply.body().limit_writing(timeout, &self.executor);
        }
        reply
    }

    /// The reply. A crash is reported.
    fn conclude(&self, end: End) -> Response<Body> {
        let reply = end.unwrap_or_else(|crash| {
            let reply = failure_reply(&Failure::for_client(&crash));
            report(&self.exchange, crash);
            reply
        });
        self.with_crashes(reply)
    }
}

impl Work {
    /// Calls the handler, which may panic before there is a future to poll.
    fn start(exchange: &Arc<Exchange>, handler: &dyn Handler) -> Self {
        let context = Context::first(exchange);
        let call = AssertUnwindSafe(|| exchange.span.in_scope(|| handler.call(context)));
        let crashed = |panic: Box<dyn Any + Send>| -> HandlerFuture {
            Box::pin(ready(Outcome::Crashed(Box::new(panicked(&*panic)))))
        };
        Self::Handling(catch_unwind(call).unwrap_or_else(crashed))
    }
}

impl Future for Dispatch {
    type Output = Response<Body>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Response<Body>> {
        if self.unrecorded.is_none() {
            let end = ready!(self.poll_end(cx));
            self.ended = true;
            let reply = self.conclude(end);
            let gate = self.exchange.caller.chain.gate.as_ref();
            let Some(recorded) = gate.and_then(|gate| gate.wait(self.exchange.caller.deadline(), &self.executor))
            else {
                return Poll::Ready(self.finished(reply));
            };
            self.unrecorded = Some(Box::pin(async move {
                let recorded = recorded.await;
                recorded.map_or_else(|failure| failure_reply(&failure), |()| reply)
            }));
        }
        let Some(unrecorded) = &mut self.unrecorded else {
            return Poll::Pending;
        };
        let reply = ready!(unrecorded.as_mut().poll(cx));
        Poll::Ready(self.finished(reply))
    }
}

impl Drop for Dispatch {
    fn drop(&mut self) {
        if !self.ended {
            self.exchange.reply.close();
            let request_id = &self.exchange.origin().id;
            tracing::debug!(%request_id, "the client went away before the reply");
        }
    }
}

fn report(exchange: &Exchange, crash: Crash) {
    exchange.span.in_scope(|| exchange.caller.report(crash));
}

/// Runs a handler to its end after the reply, or to its limit.
async fn finish_handler(handler: HandlerFuture, limit: Option<BoxFuture<'static, ()>>, exchange: OngoingCall) {
    let limit = limit.unwrap_or_else(|| Box::pin(pending()));
    let handler = AssertUnwindSafe(handler).catch_unwind();
    let crash = match select(handler, limit).await {
        Either::Left((Ok(Outcome::Deferred), _)) => return,
        Either::Left((Ok(Outcome::Reply(_)), _)) => {
            if exchange.break_reply_off() {
                return;
            }
            refused(&Failure::already_replied())
        }
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
