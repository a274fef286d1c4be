//! The place where a request's one reply lands.

use std::future::Future;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context as TaskContext, Poll, Waker};

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::Shared;
use http::Response;

use crate::{Body, Crash, Extensions, Failure, FailureCode};

/// One reply at most, and the news that none will come (spec H7).
///
/// The dispatcher holds it beside the context's holders, so that it sees both the reply and the last holder's end.
#[derive(Debug, Default)]
pub(crate) struct ReplyCell {
    state: Mutex<State>,
    /// What the context's holders note for the dispatcher's line in the log; most requests note nothing.
    extensions: OnceLock<Extensions>,
    /// Tells those who asked that the slot is closed; nearly nobody does.
    closing: OnceLock<Closing>,
}

#[derive(Debug)]
struct Closing {
    tell: Mutex<Option<oneshot::Sender<()>>>,
    told: Shared<oneshot::Receiver<()>>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Waiting,
    Watched(Waker),
    Replied(Box<Response<Body>>),
    /// Whoever holds the context broke a rule that ends its request.
    Crashed(Box<Crash>),
    /// The reply was taken by the dispatcher.
    Taken,
    /// Every holder of the context is gone. The handler's own value may still come.
    Abandoned,
    /// The dispatcher is gone: the client went away, or the deadline passed.
    Closed,
}

/// What the dispatcher finds.
#[derive(Debug)]
pub(crate) enum Arrival {
    Reply(Response<Body>),
    Crashed(Box<Crash>),
    Abandoned,
}

impl ReplyCell {
    /// A slot that begins with the extensions of a middleware, if there are any.
    pub(crate) fn new(extensions: Option<Extensions>) -> Self {
        Self {
            state: Mutex::default(),
            extensions: extensions.map(OnceLock::from).unwrap_or_default(),
            closing: OnceLock::new(),
        }
    }

    /// The request's extensions, if somebody set any.
    pub(crate) fn extensions(&self) -> Option<&Extensions> {
        self.extensions.get()
    }

    /// The request's extensions, to set one.
    pub(crate) fn extensions_mut(&self) -> &Extensions {
        self.extensions.get_or_init(Extensions::default)
    }

    /// Stores the reply.
    pub(crate) fn fill(&self, reply: Response<Body>) -> Result<(), Failure> {
        let mut state = self.lock();
        match &*state {
            State::Waiting | State::Watched(_) | State::Abandoned => {
                wake(std::mem::replace(&mut *state, State::Replied(Box::new(reply))), state);
                Ok(())
            }
            State::Closed | State::Crashed(_) => Err(Failure::internal(
                FailureCode::GONE,
                "nobody waits for the reply any more",
            )),
            State::Replied(_) | State::Taken => Err(Failure::already_replied()),
        }
    }

    /// Takes the place of the reply for a value that goes to the dispatcher by itself.
    pub(crate) fn claim(&self) -> Result<(), Failure> {
        let mut state = self.lock();
        match &*state {
            State::Replied(_) | State::Taken => Err(Failure::already_replied()),
            _ => {
                *state = State::Taken;
                Ok(())
            }
        }
    }

    /// Ends the request, if it has no reply yet.
    pub(crate) fn crash(&self, crash: Crash) {
        self.end(State::Crashed(Box::new(crash)));
    }

    /// Says that no holder of the context will reply any more; nothing if one did.
    pub(crate) fn abandon(&self) {
        self.end(State::Abandoned);
    }

    /// Refuses every later reply; nothing if there is one.
    pub(crate) fn close(&self) {
        self.end(State::Closed);
        if let Some(closing) = self.closing.get()
            && matches!(*self.lock(), State::Closed)
        {
            closing.tell();
        }
    }

    /// Completes when the slot is closed.
    pub(crate) fn closed(&self) -> impl Future<Output = ()> + Send + use<> {
        let closing = self.closing.get_or_init(|| {
            let (tell, told) = oneshot::channel();
            Closing {
                tell: Mutex::new(Some(tell)),
                told: told.shared(),
            }
        });
        // It may have been closed before anybody asked.
        if matches!(*self.lock(), State::Closed) {
            closing.tell();
        }
        closing.told.clone().map(drop)
    }

    pub(crate) fn has_reply(&self) -> bool {
        matches!(&*self.lock(), State::Replied(_) | State::Taken)
    }

    pub(crate) fn poll(&self, cx: &mut TaskContext<'_>) -> Poll<Arrival> {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, State::Taken) {
            State::Replied(reply) => Poll::Ready(Arrival::Reply(*reply)),
            State::Crashed(crash) => {
                *state = State::Closed;
                Poll::Ready(Arrival::Crashed(crash))
            }
            State::Waiting => {
                *state = State::Watched(cx.waker().clone());
                Poll::Pending
            }
            State::Watched(mut waker) => {
                waker.clone_from(cx.waker());
                *state = State::Watched(waker);
                Poll::Pending
            }
            ended @ (State::Taken | State::Abandoned | State::Closed) => {
                *state = ended;
                Poll::Ready(Arrival::Abandoned)
            }
        }
    }

    fn end(&self, end: State) {
        let mut state = self.lock();
        if matches!(&*state, State::Waiting | State::Watched(_)) {
            wake(std::mem::replace(&mut *state, end), state);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock, so the state is whole even if the mutex says otherwise.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Closing {
    fn tell(&self) {
        let tell = self.tell.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(tell) = tell {
            // Those who asked may be gone.
            let _ = tell.send(());
        }
    }
}

/// Wakes outside the lock: a waker may run the dispatcher at once.
fn wake(previous: State, guard: MutexGuard<'_, State>) {
    drop(guard);
    if let State::Watched(waker) = previous {
        waker.wake();
    }
}
