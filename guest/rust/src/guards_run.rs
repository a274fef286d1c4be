//! The guards that ran for a request.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

/// A guard that ran or runs, with the one before it.
pub(crate) trait GuardRun: Any {
    fn before(&self) -> Option<&Rc<dyn GuardRun>>;
}

/// Lets one task run a guard, and others wait for its end.
#[derive(Default)]
pub(crate) struct RunLock {
    is_held: Cell<bool>,
    waiting: RefCell<Vec<Waker>>,
}

/// Nobody else runs the guard until it is dropped.
pub(crate) struct RunPermit<'a>(&'a RunLock);

impl RunLock {
    pub(crate) async fn acquire(&self) -> RunPermit<'_> {
        poll_fn(|task| {
            if !self.is_held.replace(true) {
                return Poll::Ready(());
            }
            let mut waiting = self.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(task.waker())) {
                waiting.push(task.waker().clone());
            }
            Poll::Pending
        })
        .await;
        RunPermit(self)
    }
}

impl Drop for RunPermit<'_> {
    fn drop(&mut self) {
        self.0.is_held.set(false);
        self.0.waiting.take().into_iter().for_each(Waker::wake);
    }
}

/// The guard that ran last. Without a guard it allocates nothing.
#[derive(Default)]
pub(crate) struct GuardsRun(Cell<Option<Rc<dyn GuardRun>>>);

impl GuardsRun {
    pub(crate) fn last(&self) -> Option<Rc<dyn GuardRun>> {
        let last = self.0.take();
        self.0.set(last.clone());
        last
    }

    pub(crate) fn set_last(&self, run: Rc<dyn GuardRun>) {
        self.0.set(Some(run));
    }
}

impl fmt::Debug for GuardsRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuardsRun")
    }
}
