//! The cell that a request's one reply is put into.

use std::future::Future;
use std::task::{Context as TaskContext, Poll, Waker};

use event_listener::Event;
use http::Response;
use parking_lot::{Mutex, MutexGuard};

use super::body::Body;
use crate::{Crash, Failure, FailureCode};

/// At most one reply (spec H7). Its holders fill it, the dispatcher waits for it.
#[derive(Debug, Default)]
pub(crate) struct ReplyCell {
    state: Mutex<ReplyState>,
    /// Notified when the cell is closed or dropped. Without a listener it costs nothing.
    closing: Event,
}

#[derive(Debug, Default)]
enum ReplyState {
    #[default]
    Empty,
    /// The dispatcher waits.
    Awaited(Waker),
    Filled(Response<Body>),
    /// A host found that the handler broke a rule, and ended the request.
    Crashed(Box<Crash>),
    /// The dispatcher has the reply.
    Taken,
    /// The last holder is gone. The handler's own value may still come.
    Abandoned,
    /// The dispatcher is gone: the client went away, or the deadline passed.
    Closed,
}

impl ReplyState {
    fn is_awaited(&self) -> bool {
        matches!(self, Self::Empty | Self::Awaited(_))
    }
}

/// The end of a request: a reply, or a crash that is answered and reported.
pub(crate) type End = Result<Response<Body>, Crash>;

impl ReplyCell {
    /// Fills the cell.
    pub(crate) fn fill(&self, reply: Response<Body>) -> Result<(), Failure> {
        let state = self.state.lock();
        match &*state {
            ReplyState::Empty | ReplyState::Awaited(_) | ReplyState::Abandoned => {
                replace(state, ReplyState::Filled(reply));
                Ok(())
            }
            ReplyState::Closed | ReplyState::Crashed(_) => {
                let message = "nobody waits for the reply any more";
                Err(Failure::of(FailureCode::GONE, message))
            }
            ReplyState::Filled(_) | ReplyState::Taken => Err(Failure::already_replied()),
        }
    }

    /// Reserves the cell for the handler's own value, which the dispatcher has already.
    pub(crate) fn reserve(&self) -> Result<(), Failure> {
        let mut state = self.state.lock();
        if matches!(&*state, ReplyState::Filled(_) | ReplyState::Taken) {
            return Err(Failure::already_replied());
        }
        *state = ReplyState::Taken;
        Ok(())
    }

    /// Ends the request with a crash, unless it has its reply.
    pub(crate) fn crash(&self, crash: Crash) {
        self.end(ReplyState::Crashed(Box::new(crash)), ReplyState::is_awaited);
    }

    /// The last holder is gone.
    pub(crate) fn abandon(&self) {
        self.end(ReplyState::Abandoned, ReplyState::is_awaited);
    }

    /// Refuses every later reply, and completes [`closed`](Self::closed); nothing if the dispatcher has the reply. One that it did
    /// not take is dropped: who writes its body learns that nobody reads.
    pub(crate) fn close(&self) {
        let is_open = |state: &ReplyState| {
            matches!(
                state,
                ReplyState::Empty | ReplyState::Awaited(_) | ReplyState::Filled(_)
            )
        };
        self.end(ReplyState::Closed, is_open);
        if self.is_closed() {
            self.notify();
        }
    }

    fn notify(&self) {
        // `Event::notify` allocates, even if nobody listens.
        if self.closing.total_listeners() > 0 {
            self.closing.notify(usize::MAX);
        }
    }

    /// Whether nobody waits for the reply, and none came.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(*self.state.lock(), ReplyState::Closed | ReplyState::Crashed(_))
    }

    /// Completes when the cell is closed or dropped.
    pub(crate) fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let listener = self.closing.listen();
        // It may have been closed before.
        let closed = self.is_closed();
        async move {
            if !closed {
                listener.await;
            }
        }
    }

    /// Whether a host ended the request, which the dispatcher does not know yet.
    pub(crate) fn is_crashed(&self) -> bool {
        matches!(&*self.state.lock(), ReplyState::Crashed(_))
    }

    /// Whether somebody waits for the reply, and none came.
    pub(crate) fn is_awaited(&self) -> bool {
        self.state.lock().is_awaited()
    }

    pub(crate) fn has_reply(&self) -> bool {
        matches!(&*self.state.lock(), ReplyState::Filled(_) | ReplyState::Taken)
    }

    /// Completes with the end of the request; with `None` if nobody can reply any more.
    pub(crate) fn poll(&self, cx: &mut TaskContext<'_>) -> Poll<Option<End>> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, ReplyState::Taken) {
            ReplyState::Filled(reply) => Poll::Ready(Some(Ok(reply))),
            ReplyState::Crashed(crash) => {
                *state = ReplyState::Closed;
                Poll::Ready(Some(Err(*crash)))
            }
            ReplyState::Empty => {
                *state = ReplyState::Awaited(cx.waker().clone());
                Poll::Pending
            }
            ReplyState::Awaited(mut waker) => {
                waker.clone_from(cx.waker());
                *state = ReplyState::Awaited(waker);
                Poll::Pending
            }
            ended @ (ReplyState::Taken | ReplyState::Abandoned | ReplyState::Closed) => {
                *state = ended;
                Poll::Ready(None)
            }
        }
    }

    /// Ends the cell, if its state may end so.
    fn end(&self, end: ReplyState, may_end: impl Fn(&ReplyState) -> bool) {
        let state = self.state.lock();
        if may_end(&state) {
            replace(state, end);
        }
    }
}

impl Drop for ReplyCell {
    fn drop(&mut self) {
        self.notify();
    }
}

/// Wakes, and drops what was there, outside the lock: a waker may run the dispatcher at once.
fn replace(mut guard: MutexGuard<'_, ReplyState>, state: ReplyState) {
    let previous = std::mem::replace(&mut *guard, state);
    drop(guard);
    if let ReplyState::Awaited(waker) = previous {
        waker.wake();
    }
}
