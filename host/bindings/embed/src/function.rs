//! Functions of the host's language, and their answers.

use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread;

use parking_lot::Mutex;
use pointwork::{is_polled_again, off_fiber};
use pointwork_core::panic_message;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::coop::unconstrained;

use crate::nesting::at_depth;

/// Something of the host's language, such as a function object. It is dropped where no guest is on the stack, since its
/// destructor may be code of that language.
#[derive(Debug)]
pub struct OffFiber<T: 'static>(ManuallyDrop<T>);

impl<T: 'static> OffFiber<T> {
    /// Takes it over.
    pub fn new(value: T) -> Self {
        Self(ManuallyDrop::new(value))
    }

    /// Gives it back. From then on its holder drops it.
    fn into_inner(self) -> T {
        let mut kept = ManuallyDrop::new(self);
        // SAFETY: `kept` is not dropped, so nobody takes it again.
        unsafe { ManuallyDrop::take(&mut kept.0) }
    }
}

impl<T: 'static> Deref for OffFiber<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: 'static> Drop for OffFiber<T> {
    fn drop(&mut self) {
        // SAFETY: nobody reads it after the drop of its only holder.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        off_fiber(move || drop(value));
    }
}

/// The place where a function of the host's language runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Runs {
    /// On the thread that needs the answer. It costs least, and holds that thread up: it is for functions that do not wait,
    /// or that only hand the call to an event loop of their own and answer later.
    #[default]
    Inline,
    /// On a thread of its own from a pool, so that it may block. A call takes 10 to 20 µs longer.
    Blocking,
}

type Call<Q, A> = dyn Fn(Q, Answer<A>) + Send + Sync;

/// A function of the host's language. It takes a question and answers it with the [`Answer`], during the call or later, from
/// any thread.
///
/// It is called, and dropped, only where no guest is on the stack of the thread.
pub struct Function<Q: 'static, A: 'static> {
    call: Arc<OffFiber<Box<Call<Q, A>>>>,
    runs: Runs,
}

impl<Q: 'static, A: 'static> Clone for Function<Q, A> {
    fn clone(&self) -> Self {
        let (call, runs) = (self.call.clone(), self.runs);
        Self { call, runs }
    }
}

impl<Q: 'static, A: 'static> fmt::Debug for Function<Q, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({:?})", self.runs)
    }
}

impl<Q: Send + 'static, A: Send + 'static> Function<Q, A> {
    /// A function that runs [inline](Runs::Inline).
    pub fn new(call: impl Fn(Q, Answer<A>) + Send + Sync + 'static) -> Self {
        Self {
            call: Arc::new(OffFiber::new(Box::new(call))),
            runs: Runs::Inline,
        }
    }

    /// The same function, running there.
    #[must_use]
    pub fn runs(self, runs: Runs) -> Self {
        Self { runs, ..self }
    }

    /// Calls it at that depth, at the first poll of the result.
    pub(crate) fn call(&self, question: Q, depth: usize, threads: &Handle) -> Calling<Q, A> {
        Calling {
            first: Some((self.clone(), question)),
            depth,
            threads: threads.clone(),
            begun: None,
            answer: None,
        }
    }

    fn run(&self, question: Q, answer: Answer<A>) {
        // Nobody waits for it any more.
        if answer.is_cancelled() {
            return;
        }
        let call = AssertUnwindSafe(|| (self.call)(question, answer));
        if let Err(panic) = catch_unwind(call) {
            tracing::error!("a function of the host panicked: {}", panic_message(&*panic));
        }
    }
}

/// One call of a [`Function`]. The result is `None` if the function dropped its [`Answer`] without an answer.
pub(crate) struct Calling<Q: 'static, A: 'static> {
    first: Option<(Function<Q, A>, Q)>,
    depth: usize,
    threads: Handle,
    /// Whether the function was called; `None` once that is known.
    begun: Option<Arc<AtomicBool>>,
    answer: Option<oneshot::Receiver<A>>,
}

impl<Q: 'static, A: 'static> Unpin for Calling<Q, A> {}

impl<Q: Send + 'static, A: Send + 'static> Future for Calling<Q, A> {
    type Output = Option<A>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<Option<A>> {
        let this = &mut *self;
        if let Some((function, question)) = this.first.take() {
            let (sender, receiver) = oneshot::channel();
            this.answer = Some(receiver);
            let (answer, depth) = (Answer(sender), this.depth);
            match function.runs {
                Runs::Inline if pointwork::on_fiber() => {
                    let begun = Arc::<AtomicBool>::default();
                    this.begun = Some(begun.clone());
                    off_fiber(move || {
                        begun.store(true, Ordering::Relaxed);
                        at_depth(depth, || function.run(question, answer));
                    });
                }
                Runs::Inline => at_depth(depth, || function.run(question, answer)),
                Runs::Blocking => {
                    let run = move || at_depth(depth, || function.run(question, answer));
                    this.threads.spawn_blocking(run);
                }
            }
        }
        if let Some(begun) = &this.begun {
            // The call is queued behind this very poll, which is repeated after it: a wake-up would be one too many.
            if !begun.load(Ordering::Relaxed) && is_polled_again(cx.waker()) {
                return Poll::Pending;
            }
            this.begun = None;
        }
        match &mut this.answer {
            Some(answer) => Pin::new(answer).poll(cx).map(Result::ok),
            None => Poll::Pending,
        }
    }
}

/// Answers one call, once. Dropping it is a failure of the function: the caller learns that it never answered.
#[derive(Debug)]
pub struct Answer<A>(oneshot::Sender<A>);

impl<A> Answer<A> {
    /// Answers.
    ///
    /// # Errors
    /// [`Gone`](AnswerError::Gone).
    pub fn send(self, answer: A) -> Result<(), AnswerError> {
        self.0.send(answer).map_err(|_| AnswerError::Gone)
    }

    /// Whether nobody waits for the answer any more: the client went away, a deadline passed, or the application was closed.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_closed()
    }

    fn when_gone(&mut self, threads: &Handle, gone: impl FnOnce() + Send + 'static) {
        let gone = WhenGone::new(Box::new(gone));
        let waker = Waker::from(Arc::new(Gone {
            threads: threads.clone(),
            call: Mutex::new(Some(gone)),
        }));
        // The budget of the task that happens to be polled must not wake it.
        let closed = pin!(unconstrained(self.0.closed()));
        if closed.poll(&mut TaskContext::from_waker(&waker)).is_ready() {
            waker.wake();
        }
    }
}

type WhenGone = OffFiber<Box<dyn FnOnce() + Send>>;

/// Calls a function at its first wake-up.
struct Gone {
    threads: Handle,
    call: Mutex<Option<WhenGone>>,
}

impl Wake for Gone {
    fn wake(self: Arc<Self>) {
        let call = self.call.lock().take();
        if let Some(call) = call {
            let call = OnceElsewhere(Some(call));
            // The thread that drops the call may hold a lock, and a guest is on its stack.
            self.threads.spawn(async move { call.call() });
        }
    }
}

/// Calls a function once: on a thread of its own if the threads of the application have ended.
struct OnceElsewhere(Option<WhenGone>);

impl OnceElsewhere {
    fn call(mut self) {
        if let Some(call) = self.0.take() {
            call.into_inner()();
        }
    }
}

impl Drop for OnceElsewhere {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            let spawned = thread::Builder::new().spawn(move || call.into_inner()());
            if let Err(error) = spawned {
                tracing::error!("a function of the host cannot be told that nobody waits for its answer: {error}");
            }
        }
    }
}

/// An [`Answer`] for languages that cannot take a value away from its holder: a second answer is refused.
#[derive(Debug)]
pub struct AnswerCell<A>(Mutex<Option<Answer<A>>>);

impl<A> From<Answer<A>> for AnswerCell<A> {
    fn from(answer: Answer<A>) -> Self {
        Self(Mutex::new(Some(answer)))
    }
}

impl<A> AnswerCell<A> {
    /// Answers.
    ///
    /// # Errors
    /// [`AnswerError`].
    pub fn send(&self, answer: A) -> Result<(), AnswerError> {
        let taken = self.0.lock().take();
        taken.ok_or(AnswerError::Twice)?.send(answer)
    }

    pub(crate) fn when_gone(&self, threads: &Handle, gone: impl FnOnce() + Send + 'static) {
        if let Some(answer) = &mut *self.0.lock() {
            answer.when_gone(threads, gone);
        }
    }

    /// Whether nobody waits for the answer any more, or it was given.
    pub fn is_cancelled(&self) -> bool {
        self.0.lock().as_ref().is_none_or(Answer::is_cancelled)
    }
}

/// The reason why an answer reaches nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnswerError {
    /// The call was answered before.
    #[error("the call was answered before, expected one answer")]
    Twice,
    /// Nobody waits for it any more.
    #[error(
        "nobody waits for the answer any more: the client went away, a deadline passed, or the application was closed"
    )]
    Gone,
}
