//! Requests that the host's language drives: polled once on its thread, and from then on when they are woken.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context as TaskContext, Poll, Wake, Waker};

use futures_util::future::{AbortHandle, Abortable};
use http::{Request, Response};
use parking_lot::Mutex;
use pointwork::{Body, off_fiber};
use pointwork_core::{BoxFuture, Failure, FailureCode, failure_reply};
use tokio::runtime::Handle;

/// The end of a request that was not answered at once.
#[derive(Debug)]
pub enum Ended {
    /// Its reply.
    Reply(Response<Body>),
    /// [`InFlight::cancel`] ended it, or the end of the application did.
    Cancelled,
}

/// How far a request is after its first poll.
#[derive(Debug)]
pub enum Progress {
    /// The reply. The function that was given for a later one is dropped without a call.
    Ready(Response<Body>),
    /// The function gets the end, exactly once, on a thread of the application.
    Pending(InFlight),
    /// No route of the mount matches the request, which goes on to the routes around it. Its body is unread.
    NotOurs(Request<Body>),
}

/// A request without a reply so far. Dropping it changes nothing.
#[derive(Clone, Debug)]
pub struct InFlight {
    task: Arc<Task>,
}

impl InFlight {
    /// Cancels the request: its handler is dropped, as when a client goes away. If there was no reply yet, the function that
    /// waits for it gets [`Ended::Cancelled`].
    pub fn cancel(&self) {
        self.task.abort.abort();
        self.task.clone().wake();
    }
}

/// Gets the end of a request. It is called exactly once.
pub(crate) type Done = Box<dyn FnOnce(Ended) + Send>;

struct Task {
    state: Mutex<State>,
    abort: AbortHandle,
    key: u64,
    requests: Weak<Requests>,
}

enum State {
    /// On the thread of its first poll; whether it was woken meanwhile.
    Polled { woken: bool },
    /// Waits for its first wake-up.
    Waiting(Abortable<DrivenReply>, DoneOnce),
    /// On the threads of the application.
    Spawned,
}

/// The requests in flight of an application.
pub(crate) struct Requests {
    threads: Handle,
    next: AtomicU64,
    tasks: Mutex<HashMap<u64, Arc<Task>>>,
}

impl Requests {
    pub(crate) fn new(threads: &Handle) -> Arc<Self> {
        Arc::new(Self {
            threads: threads.clone(),
            next: AtomicU64::new(0),
            tasks: Mutex::default(),
        })
    }

    /// The number of requests that were not answered at once, and are not yet.
    pub(crate) fn count(&self) -> usize {
        self.tasks.lock().len()
    }

    pub(crate) fn cancel_all(&self) {
        let tasks: Vec<_> = self.tasks.lock().values().cloned().collect();
        for task in tasks {
            InFlight { task }.cancel();
        }
    }

    /// Polls a reply on this thread. If it is not there, it is finished on the threads of the application.
    pub(crate) fn drive(self: &Arc<Self>, mut reply: DrivenReply, done: impl FnOnce() -> Done) -> Progress {
        // A reply that is there at once needs no waker. A guest that only yields is polled again below.
        if let Poll::Ready(reply) = self.poll(&mut reply, Waker::noop()) {
            return Progress::Ready(reply);
        }
        let (abort, registration) = AbortHandle::new_pair();
        let task = Arc::new(Task {
            state: Mutex::new(State::Polled { woken: false }),
            abort,
            key: self.next.fetch_add(1, Ordering::Relaxed),
            requests: Arc::downgrade(self),
        });
        let waker = Waker::from(task.clone());
        if let Poll::Ready(reply) = self.poll(&mut reply, &waker) {
            return Progress::Ready(reply);
        }
        {
            let mut tasks = self.tasks.lock();
            if tasks.len() >= MOST {
                return Progress::Ready(too_many());
            }
            tasks.insert(task.key, task.clone());
        }
        let done = DoneOnce {
            done: Some(done()),
            requests: self.clone(),
            key: task.key,
        };
        let mut state = task.state.lock();
        let woken = matches!(*state, State::Polled { woken: true });
        *state = State::Waiting(Abortable::new(reply, registration), done);
        drop(state);
        if woken {
            task.clone().wake();
        }
        Progress::Pending(InFlight { task })
    }

    fn poll(&self, reply: &mut DrivenReply, waker: &Waker) -> Poll<Response<Body>> {
        let _entered = self.threads.enter();
        Pin::new(reply).poll(&mut TaskContext::from_waker(waker))
    }
}

type DrivenReply = BoxFuture<'static, Response<Body>>;

/// The most requests that wait at a time. One takes some 45 KiB.
const MOST: usize = 16 * 1024;

fn too_many() -> Response<Body> {
    let message = format!("{MOST} requests wait for their replies");
    failure_reply(&Failure::of(FailureCode::OVERLOADED, message))
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let mut state = self.state.lock();
        match &mut *state {
            State::Polled { woken } => *woken = true,
            State::Spawned => {}
            State::Waiting(..) => {
                let State::Waiting(reply, done) = std::mem::replace(&mut *state, State::Spawned) else {
                    return;
                };
                drop(state);
                let Some(requests) = self.requests.upgrade() else {
                    return;
                };
                requests.threads.spawn(async move {
                    match reply.await {
                        Ok(reply) => done.call(Ended::Reply(reply)),
                        Err(_) => done.call(Ended::Cancelled),
                    }
                });
            }
        }
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Task({})", self.key)
    }
}

/// Calls the function once, at its drop at the latest.
struct DoneOnce {
    done: Option<Done>,
    requests: Arc<Requests>,
    key: u64,
}

impl DoneOnce {
    fn call(mut self, ended: Ended) {
        self.end(ended);
    }

    fn end(&mut self, ended: Ended) {
        if let Some(done) = self.done.take() {
            let (requests, key) = (self.requests.clone(), self.key);
            off_fiber(move || {
                done(ended);
                requests.tasks.lock().remove(&key);
            });
        }
    }
}

impl Drop for DoneOnce {
    fn drop(&mut self) {
        self.end(Ended::Cancelled);
    }
}
