//! The place of an instance's driver, the future that runs the calls of the instance.
//!
//! A request that has a call for an instance polls the driver itself, so that no other thread takes part. A later event (a timer,
//! an answer from another thread) wakes the keeper, a task of the instance. One thread polls the driver at a time. A thread that
//! finds the slot empty sets the flag `again`, and the thread that has the driver polls the driver once more.
//!
//! Between two polls the thread runs works of the host, see [`off_fiber`](super::fibers::off_fiber). A work may wait for a request
//! of its own to the instance. An event then wakes another task: the keeper, or a helper if the keeper's own task runs the work.

use std::future::Future;
use std::ops::DerefMut;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread::{self, ThreadId};

use parking_lot::Mutex;
use pointwork_core::BoxFuture;

use crate::scheduling::fibers::{Entered, is_blocked};
use crate::scheduling::meter::{is_slice_used, take_slice_used};
use crate::scheduling::threads::{Priority, Threads};

/// The output of a driver, or the panic of the driver.
type Ended<T> = thread::Result<T>;

/// See the [module](self).
pub(crate) struct DriverSlot<T> {
    slot: Mutex<Slot<BoxFuture<'static, T>, Ended<T>, ThreadId>>,
    threads: Arc<Threads>,
}

impl<T: Send + 'static> DriverSlot<T> {
    pub(crate) fn new(driver: impl Future<Output = T> + Send + 'static, threads: Arc<Threads>) -> Arc<Self> {
        let driver: BoxFuture<'static, T> = Box::pin(driver);
        let slot = Mutex::new(Slot::new(driver));
        Arc::new(Self { slot, threads })
    }

    /// Whether a thread polls the driver at this moment.
    pub(crate) fn is_polled(&self) -> bool {
        self.slot.lock().is_polled
    }

    /// Has another task poll the driver, or tells the thread that polls the driver to poll the driver once more.
    pub(crate) fn notify(self: &Arc<Self>) {
        let by = (!is_blocked()).then(|| thread::current().id());
        let next = self.slot.lock().notify(by);
        match next {
            Some(Next::Keeper(keeper)) => keeper.wake(),
            Some(Next::Helper) => {
                let slot = self.clone();
                self.threads.spawn_at(Priority::Normal, async move { slot.poll_here() });
            }
            None => {}
        }
    }

    /// Polls the driver on this thread until the driver waits or has used up its time slice, unless another
    /// thread polls the driver.
    pub(crate) fn poll_here(self: &Arc<Self>) {
        if self.poll_until_it_waits() {
            self.notify();
        }
    }

    /// Returns whether the driver has more to do, or has ended.
    fn poll_until_it_waits(self: &Arc<Self>) -> bool {
        let waker = Waker::from(self.clone());
        let mut context = TaskContext::from_waker(&waker);
        take_slice_used();
        let poll = |driver: &mut BoxFuture<'static, T>| {
            let entered = Entered::new(Some(&waker));
            let polled = catch_unwind(AssertUnwindSafe(|| driver.as_mut().poll(&mut context)));
            let ended = match polled {
                Ok(Poll::Pending) => None,
                Ok(Poll::Ready(output)) => Some(Ok(output)),
                Err(panic) => Some(Err(panic)),
            };
            (ended, |begin: &mut dyn FnMut()| entered.leave_for(&waker, begin))
        };
        poll_in_place(|| self.slot.lock(), thread::current().id(), poll, is_slice_used)
    }

    /// The task that is woken for the driver. Dropped, it drops the driver.
    pub(crate) fn keep(self: Arc<Self>) -> Keeper<T> {
        Keeper(self)
    }
}

impl<T: Send + 'static> Wake for DriverSlot<T> {
    fn wake(self: Arc<Self>) {
        self.notify();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.notify();
    }
}

/// See [`DriverSlot::keep`].
pub(crate) struct Keeper<T: Send + 'static>(Arc<DriverSlot<T>>);

impl<T: Send + 'static> Future for Keeper<T> {
    type Output = T;

    fn poll(self: std::pin::Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<T> {
        self.0.slot.lock().begin_keeping(cx.waker());
        let has_more = self.0.poll_until_it_waits();
        let ended = self.0.slot.lock().end_keeping();
        if has_more && ended.is_none() {
            cx.waker().wake_by_ref();
        }
        match ended {
            Some(Ok(output)) => Poll::Ready(output),
            Some(Err(panic)) => resume_unwind(panic),
            None => Poll::Pending,
        }
    }
}

impl<T: Send + 'static> Drop for Keeper<T> {
    fn drop(&mut self) {
        let driver = self.0.slot.lock().close();
        let entered = Entered::new(None);
        drop(driver);
        entered.leave();
    }
}

/// A driver that has more to do after so many polls in a row is left to its keeper: its guest yields in a loop.
const MOST_POLLS: u32 = 8;

/// The task that is to poll the driver.
enum Next {
    Keeper(Waker),
    /// A task of its own, since that of the keeper waits for a work of the host.
    Helper,
}

/// See [`DriverSlot::poll_until_it_waits`]. `poll` returns what the driver ended with, and the function that runs the works of the
/// host that wait for the end of the poll. That function calls its argument before the first of them.
fn poll_in_place<D, T, I: Copy + Eq, G: DerefMut<Target = Slot<D, T, I>>, W: FnOnce(&mut dyn FnMut()) -> bool>(
    lock: impl Fn() -> G,
    thread: I,
    mut poll: impl FnMut(&mut D) -> (Option<T>, W),
    is_slice_used: impl Fn() -> bool,
) -> bool {
    for _ in 0..MOST_POLLS {
        let taken = lock().take();
        let Some(mut driver) = taken else { return false };
        let (ended, works) = poll(&mut driver);
        let is_ended = ended.is_some();
        let (unwanted, again) = lock().put_back(driver, ended);
        // With its fibers, before the works.
        drop(unwanted);
        let ran = works(&mut || lock().works = Some(thread));
        if ran {
            lock().works = None;
        }
        if is_ended || is_slice_used() {
            return true;
        }
        if !again && !ran {
            return false;
        }
    }
    true
}

/// The state of a [`DriverSlot`], behind its lock. `I` names a thread.
struct Slot<D, T, I> {
    /// `None` while somebody polls it, and at the end.
    driver: Option<D>,
    is_polled: bool,
    /// Whether something happened since the driver was taken.
    again: bool,
    /// The thread that runs works of the host and polls the driver after them.
    works: Option<I>,
    is_closed: bool,
    ended: Option<T>,
    keeper: Option<Waker>,
    /// Whether the keeper's task runs, so that nobody can poll the keeper.
    is_keeping: bool,
    /// Whether a helper was asked for and nobody has looked for the driver since.
    is_helped: bool,
}

impl<D, T, I: Copy + Eq> Slot<D, T, I> {
    fn new(driver: D) -> Self {
        Self {
            driver: Some(driver),
            is_polled: false,
            again: false,
            works: None,
            is_closed: false,
            ended: None,
            keeper: None,
            is_keeping: false,
            is_helped: false,
        }
    }

    fn begin_keeping(&mut self, waker: &Waker) {
        self.is_keeping = true;
        match &mut self.keeper {
            Some(keeper) => keeper.clone_from(waker),
            None => self.keeper = Some(waker.clone()),
        }
    }

    fn end_keeping(&mut self) -> Option<T> {
        self.is_keeping = false;
        self.ended.take()
    }

    /// Takes the driver to poll it; `None` if somebody has it, who polls it again.
    fn take(&mut self) -> Option<D> {
        let driver = self.driver.take();
        self.again = driver.is_none();
        self.is_polled |= driver.is_some();
        self.is_helped = false;
        driver
    }

    /// Puts it back, unless it ended or nobody wants it any more: then it is returned, to be dropped. The flag is whether something
    /// happened since it was taken.
    fn put_back(&mut self, driver: D, ended: Option<T>) -> (Option<D>, bool) {
        self.is_polled = false;
        let again = std::mem::take(&mut self.again);
        if ended.is_some() || self.is_closed {
            self.ended = ended;
            return (Some(driver), again);
        }
        self.driver = Some(driver);
        (None, again)
    }

    /// Returns who polls the driver; `None` if somebody will do so anyway. `by` is the thread, unless a work blocks the thread.
    fn notify(&mut self, by: Option<I>) -> Option<Next> {
        if self.is_polled {
            self.again = true;
            return None;
        }
        if by.is_some() && by == self.works {
            return None;
        }
        if !self.is_keeping {
            return self.keeper.clone().map(Next::Keeper);
        }
        (!std::mem::replace(&mut self.is_helped, true)).then_some(Next::Helper)
    }

    fn close(&mut self) -> Option<D> {
        self.is_closed = true;
        self.driver.take()
    }
}

#[cfg(test)]
mod tests;
