//! The stacks of guests. A guest runs on a fiber, a stack of its own, and wasmtime polls the host functions that it awaits,
//! and drops them, while that fiber is current. Code of another language that is called there ends the process, since its
//! runtime finds its thread on a stack that it does not know.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll, RawWakerVTable, Waker};

use pointwork_core::BoxFuture;

use crate::scheduling::meter::is_slice_used;
use crate::scheduling::signals::take_faults;
use crate::scheduling::threads::hand_tasks_over;

type Work = Box<dyn FnOnce()>;

/// What [`Waker::will_wake`] compares. It is all that is asked of the waker, and a clone of it would cost two atomic operations
/// in each poll.
type WakerIdentity = (*const (), *const RawWakerVTable);

fn identity(waker: &Waker) -> WakerIdentity {
    (waker.data(), waker.vtable())
}

thread_local! {
    /// The number of polls and drops of guest code that the thread is within.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    /// The waker of the outermost poll; `None` outside a poll.
    static WAKER: Cell<Option<WakerIdentity>> = const { Cell::new(None) };
    /// Waits for the end of the outermost of them.
    static WAITING: RefCell<Vec<Work>> = const { RefCell::new(Vec::new()) };
    /// Guest code that this thread polls again after the works that it runs.
    static LEFT: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
    /// Whether the thread is within [`blocking`].
    static IS_BLOCKED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` on the stack of the thread itself: at once where no guest is polled or dropped on this thread, otherwise as soon
/// as the outermost poll or drop of guest code has returned, and on the same thread. After that the guest is polled again,
/// so that it goes on without a wake-up. Works run in their order; a panic of one is logged.
///
/// A host that calls functions of another language calls *everything* of that language through this: functions,
/// destructors, wakers and log hooks. A Go, Java or Node.js runtime ends the process when it is called on the stack of a
/// fiber.
///
/// ```
/// use std::cell::Cell;
/// use std::rc::Rc;
///
/// let called = Rc::new(Cell::new(false));
/// let by_work = called.clone();
/// pointwork::off_fiber(move || by_work.set(true));
/// assert!(called.get(), "no guest runs on this thread");
/// ```
pub fn off_fiber(work: impl FnOnce() + 'static) {
    if DEPTH.get() == 0 {
        work();
    } else {
        WAITING.with_borrow_mut(|waiting| waiting.push(Box::new(work)));
    }
}

/// Whether this thread polls or drops guest code, so that a fiber may be current.
pub fn on_fiber() -> bool {
    DEPTH.get() > 0
}

/// Runs work that blocks the thread for a while, in a work of [`off_fiber`] or elsewhere: a wait for a request, which a function of
/// the host sends to the application that called it. Meanwhile other threads run the guests and the tasks that this thread would
/// run after it.
pub fn blocking<T>(work: impl FnOnce() -> T) -> T {
    struct Restored(bool);

    impl Drop for Restored {
        fn drop(&mut self) {
            IS_BLOCKED.set(self.0);
        }
    }

    let _restored = Restored(IS_BLOCKED.replace(true));
    for guest in LEFT.with_borrow(Vec::clone) {
        guest.wake();
    }
    hand_tasks_over(work)
}

pub(super) fn is_blocked() -> bool {
    IS_BLOCKED.get()
}

/// Whether a task that waits for the end of a work of [`off_fiber`] need not be woken by this waker: the work was queued
/// in a poll of the guest's own task, which is polled again after it.
pub fn is_polled_again(waker: &Waker) -> bool {
    WAKER.get() == Some(identity(waker))
}

/// A poll or a drop of guest code on this thread.
pub(super) struct Entered(());

impl Entered {
    pub(super) fn new(waker: Option<&Waker>) -> Self {
        // Before a guest may trap.
        take_faults();
        let depth = DEPTH.get();
        DEPTH.set(depth + 1);
        if depth == 0 {
            WAKER.set(waker.map(identity));
        }
        Self(())
    }

    /// Leaves it, and runs what waits for that. The result is whether there was anything.
    pub(super) fn leave(self) -> bool {
        drop(self);
        DEPTH.get() == 0 && run_waiting(&mut || ())
    }

    /// The same for guest code that another thread may poll meanwhile. `begin` is called before the first work, and `waker` is
    /// woken if a work blocks the thread.
    pub(super) fn leave_for(self, waker: &Waker, begin: &mut dyn FnMut()) -> bool {
        drop(self);
        if DEPTH.get() > 0 {
            return false;
        }
        let was_blocked = IS_BLOCKED.replace(false);
        let ran = run_waiting(&mut || {
            begin();
            LEFT.with_borrow_mut(|left| left.push(waker.clone()));
        });
        IS_BLOCKED.set(was_blocked);
        if ran {
            LEFT.with_borrow_mut(Vec::pop);
        }
        ran
    }
}

fn run_waiting(begin: &mut dyn FnMut()) -> bool {
    let mut any = false;
    loop {
        let waiting = WAITING.take();
        if waiting.is_empty() {
            return any;
        }
        if !std::mem::replace(&mut any, true) {
            begin();
        }
        for work in waiting {
            if let Err(panic) = catch_unwind(AssertUnwindSafe(work)) {
                let panic = pointwork_core::panic_message(&*panic);
                tracing::error!("work of the host beside a guest panicked: {panic}");
            }
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            WAKER.set(None);
        }
    }
}

/// A future of guest code, the only way in which guest code is polled and dropped.
pub(crate) struct GuestWork<T>(Option<BoxFuture<'static, T>>);

impl<T> GuestWork<T> {
    pub(crate) fn new(work: impl Future<Output = T> + Send + 'static) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<T> Future for GuestWork<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<T> {
        let Some(work) = &mut self.0 else {
            return Poll::Pending;
        };
        loop {
            let entered = Entered::new(Some(cx.waker()));
            let polled = work.as_mut().poll(cx);
            let ran = entered.leave();
            // A guest whose slice is over has its turn again when the executor says so.
            if polled.is_ready() || !ran || is_slice_used() {
                return polled;
            }
        }
    }
}

impl<T> Drop for GuestWork<T> {
    fn drop(&mut self) {
        let entered = Entered::new(None);
        self.0 = None;
        entered.leave();
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};
    use std::rc::Rc;
    use std::task::Waker;

    use super::*;

    thread_local! {
        static SAID: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
    }

    fn say(word: &'static str) {
        assert!(!on_fiber());
        SAID.with_borrow_mut(|said| said.push(word));
    }

    fn said() -> Vec<&'static str> {
        SAID.take()
    }

    fn poll<T>(work: &mut GuestWork<T>) -> Poll<T> {
        Pin::new(work).poll(&mut TaskContext::from_waker(Waker::noop()))
    }

    /// Says a word when it is dropped.
    struct Last(&'static str);

    impl Drop for Last {
        fn drop(&mut self) {
            let word = self.0;
            off_fiber(move || say(word));
        }
    }

    #[test]
    fn works_of_a_poll_run_behind_it_in_their_order_and_the_guest_goes_on() {
        off_fiber(|| say("at once"));
        assert_eq!(said(), ["at once"]);
        let answer = std::sync::Arc::new(std::sync::OnceLock::new());
        let slot = answer.clone();
        let nested = GuestWork::new(async {
            off_fiber(|| say("first"));
        });
        let mut work = GuestWork::new(async move {
            nested.await;
            let _last = Last("third");
            off_fiber(move || {
                say("second");
                slot.set(7).unwrap();
                off_fiber(|| say("within"));
            });
            assert!(said().is_empty() && on_fiber());
            poll_fn(|cx| {
                assert!(is_polled_again(cx.waker()));
                answer.get().map_or(Poll::Pending, |answer| Poll::Ready(*answer))
            })
            .await
        });
        assert_eq!(poll(&mut work), Poll::Ready(7));
        assert_eq!(said(), ["first", "second", "within", "third"]);
        assert!(!is_polled_again(Waker::noop()));
    }

    #[test]
    fn works_of_a_drop_and_of_a_panic_run_behind_it() {
        let mut work = GuestWork::new(async {
            let _last = Last("dropped");
            pending::<()>().await;
        });
        assert!(poll(&mut work).is_pending());
        drop(work);
        assert_eq!(said(), ["dropped"]);
        let mut work = GuestWork::new(async {
            off_fiber(|| panic!("a work panics"));
            off_fiber(|| say("behind it"));
            panic!("the guest's host panics");
        });
        let panicked = catch_unwind(AssertUnwindSafe(|| poll::<()>(&mut work)));
        assert!(panicked.is_err() && !on_fiber());
        drop(work);
        assert_eq!(said(), ["behind it"]);
    }

    #[test]
    fn a_work_that_runs_a_guest_runs_only_the_works_of_that_guest() {
        let mut work = GuestWork::new(async {
            off_fiber(|| {
                let mut inner = GuestWork::new(async { off_fiber(|| say("inner")) });
                assert!(poll(&mut inner).is_ready());
                say("outer");
            });
            off_fiber(|| say("next"));
        });
        assert!(poll(&mut work).is_ready());
        assert_eq!(said(), ["inner", "outer", "next"]);
        let unused = Rc::new(());
        off_fiber(move || drop(unused));
    }
}
