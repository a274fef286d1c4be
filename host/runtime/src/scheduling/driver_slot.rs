//! The place of an instance's driver, the future that runs the calls of the instance.
//!
//! A request that has a call for an instance polls the driver itself, so that no other thread takes part. A later event (a timer,
//! an answer from another thread) wakes the keeper, a task of the instance. One thread polls the driver at a time. A thread that
//! finds the slot empty sets the flag `again`, and the thread that has the driver polls the driver once more.

use std::future::Future;
use std::ops::DerefMut;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread::{self, ThreadId};

use parking_lot::Mutex;
use pointwork_core::BoxFuture;

use crate::scheduling::fibers::Entered;
use crate::scheduling::meter::{is_slice_used, take_slice_used};

/// The output of a driver, or the panic of the driver.
type Ended<T> = thread::Result<T>;

/// See the [module](self).
pub(crate) struct DriverSlot<T>(Mutex<Slot<BoxFuture<'static, T>, Ended<T>, ThreadId>>);

impl<T: Send + 'static> DriverSlot<T> {
    pub(crate) fn new(driver: impl Future<Output = T> + Send + 'static) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Slot::new(Box::pin(driver)))))
    }

    /// Whether a thread polls the driver at this moment.
    pub(crate) fn is_polled(&self) -> bool {
        self.0.lock().is_polled
    }

    /// Wakes the keeper, or tells the thread that polls the driver to poll the driver once more.
    pub(crate) fn notify(&self) {
        notify(|| self.0.lock(), thread::current().id());
    }

    /// Polls the driver on this thread until the driver waits or has used up its time slice, unless another
    /// thread polls the driver.
    pub(crate) fn poll_here(self: &Arc<Self>) {
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
            (ended, || entered.leave())
        };
        poll_in_place(|| self.0.lock(), thread::current().id(), poll, is_slice_used);
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
        self.0.0.lock().set_keeper(cx.waker());
        self.0.poll_here();
        let ended = self.0.0.lock().ended.take();
        match ended {
            Some(Ok(output)) => Poll::Ready(output),
            Some(Err(panic)) => resume_unwind(panic),
            None => Poll::Pending,
        }
    }
}

impl<T: Send + 'static> Drop for Keeper<T> {
    fn drop(&mut self) {
        let driver = self.0.0.lock().close();
        let entered = Entered::new(None);
        drop(driver);
        entered.leave();
    }
}

/// A driver that has more to do after so many polls in a row is left to its keeper: its guest yields in a loop.
const MOST_POLLS: u32 = 8;

/// See [`DriverSlot::poll_here`]. `poll` returns what the driver ended with, and the function that runs the works of the host
/// that wait for the end of the poll.
fn poll_in_place<D, T, I: Copy + Eq, G: DerefMut<Target = Slot<D, T, I>>, W: FnOnce() -> bool>(
    lock: impl Fn() -> G,
    thread: I,
    mut poll: impl FnMut(&mut D) -> (Option<T>, W),
    is_slice_used: impl Fn() -> bool,
) {
    for _ in 0..MOST_POLLS {
        let taken = lock().take();
        let Some(mut driver) = taken else { return };
        let (ended, works) = poll(&mut driver);
        let is_ended = ended.is_some();
        let unwanted = lock().put_back(driver, ended, thread);
        // With its fibers, before the works.
        drop(unwanted);
        // A work may wait for a request of its own to this instance, and finds the driver in its place.
        let ran = works();
        let again = lock().leave() || ran;
        if is_ended || is_slice_used() {
            break;
        }
        if !again {
            return;
        }
    }
    notify(lock, thread);
}

/// See [`DriverSlot::notify`].
fn notify<D, T, I: Copy + Eq, G: DerefMut<Target = Slot<D, T, I>>>(lock: impl Fn() -> G, thread: I) {
    let keeper = lock().notify(thread);
    if let Some(keeper) = keeper {
        keeper.wake();
    }
}

/// The state of a [`DriverSlot`], behind its lock. `I` names a thread.
struct Slot<D, T, I> {
    /// `None` while somebody polls it, and at the end.
    driver: Option<D>,
    is_polled: bool,
    /// Whether something happened since the driver was taken.
    again: bool,
    /// The thread that has put the driver back and will look for `again`.
    leaves: Option<I>,
    is_closed: bool,
    ended: Option<T>,
    keeper: Option<Waker>,
}

impl<D, T, I: Copy + Eq> Slot<D, T, I> {
    fn new(driver: D) -> Self {
        Self {
            driver: Some(driver),
            is_polled: false,
            again: false,
            leaves: None,
            is_closed: false,
            ended: None,
            keeper: None,
        }
    }

    fn set_keeper(&mut self, waker: &Waker) {
        match &mut self.keeper {
            Some(keeper) => keeper.clone_from(waker),
            None => self.keeper = Some(waker.clone()),
        }
    }

    /// Takes the driver to poll it; `None` if somebody has it, who polls it again.
    fn take(&mut self) -> Option<D> {
        let driver = self.driver.take();
        self.again = driver.is_none();
        self.is_polled |= driver.is_some();
        driver
    }

    /// Puts it back, unless it ended or nobody wants it any more: then it is returned, to be dropped.
    fn put_back(&mut self, driver: D, ended: Option<T>, thread: I) -> Option<D> {
        self.is_polled = false;
        self.leaves = Some(thread);
        if ended.is_some() || self.is_closed {
            self.ended = ended;
            return Some(driver);
        }
        self.driver = Some(driver);
        None
    }

    /// The thread that put the driver back has run its works. Returns whether it polls the driver again.
    fn leave(&mut self) -> bool {
        self.leaves = None;
        !self.is_polled && std::mem::take(&mut self.again)
    }

    /// Returns the waker of the keeper; `None` if the thread that polls the driver polls the driver once more.
    fn notify(&mut self, thread: I) -> Option<Waker> {
        if self.is_polled || self.leaves == Some(thread) {
            self.again = true;
            return None;
        }
        self.keeper.clone()
    }

    fn close(&mut self) -> Option<D> {
        self.is_closed = true;
        self.driver.take()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::atomic::{AtomicUsize, Ordering as StdOrdering};

    use loom::sync::Mutex;
    use loom::sync::atomic::{AtomicUsize as Events, Ordering};

    use super::*;

    /// An instance whose driver notes how many events it has seen, and whose keeper is woken by a flag.
    struct Model {
        slot: Mutex<Slot<usize, (), u8>>,
        events: Events,
        keeper: Arc<Flag>,
    }

    /// Whether the keeper was woken. A mutex, since in loom the end of a thread orders no atomic operations.
    struct Flag(Mutex<bool>);

    impl Flag {
        fn take(&self) -> bool {
            std::mem::take(&mut self.0.lock().expect("no thread panics"))
        }
    }

    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            *self.0.lock().expect("no thread panics") = true;
        }
    }

    impl Model {
        fn new() -> Self {
            let keeper = Arc::new(Flag(Mutex::new(false)));
            let mut slot = Slot::new(0);
            slot.set_keeper(&Waker::from(keeper.clone()));
            Self {
                slot: Mutex::new(slot),
                events: Events::new(0),
                keeper,
            }
        }

        fn lock(&self) -> loom::sync::MutexGuard<'_, Slot<usize, (), u8>> {
            self.slot.lock().expect("no thread panics")
        }

        /// Polls the driver; in the first poll a work of the host is left that causes an event.
        fn poll(&self, thread: u8, works: usize) {
            let left = Cell::new(works);
            let poll = |seen: &mut usize| {
                *seen = self.events.load(Ordering::SeqCst);
                let left = &left;
                let works = move || {
                    let any = left.get() > 0;
                    if any {
                        left.set(left.get() - 1);
                        self.event(thread);
                    }
                    // That it is polled again is up to the note that the event left.
                    false
                };
                (None, works)
            };
            poll_in_place(|| self.lock(), thread, poll, || false);
        }

        fn event(&self, thread: u8) {
            self.events.fetch_add(1, Ordering::SeqCst);
            notify(|| self.lock(), thread);
        }

        /// What the keeper does once it has been woken. The driver has seen every event then.
        fn check(&self) {
            if self.keeper.take() {
                self.poll(0, 0);
            }
            assert_eq!(self.lock().driver, Some(self.events.load(Ordering::SeqCst)));
        }
    }

    /// Requests that poll the driver, events of other threads, and the keeper: in every order the driver sees every event.
    #[test]
    fn no_order_of_polls_and_events_loses_an_event() {
        static ORDERS: AtomicUsize = AtomicUsize::new(0);
        for works in [0, 1] {
            let mut model = loom::model::Builder::new();
            model.preemption_bound = Some(3);
            model.check(move || {
                let instance = loom::sync::Arc::new(Model::new());
                let request = {
                    let instance = instance.clone();
                    loom::thread::spawn(move || {
                        instance.events.fetch_add(1, Ordering::SeqCst);
                        instance.poll(1, works);
                    })
                };
                let other = {
                    let instance = instance.clone();
                    loom::thread::spawn(move || {
                        instance.event(2);
                        if instance.keeper.take() {
                            instance.poll(2, works);
                        }
                    })
                };
                instance.events.fetch_add(1, Ordering::SeqCst);
                instance.poll(3, 0);
                request.join().expect("it does not panic");
                other.join().expect("it does not panic");
                instance.check();
                ORDERS.fetch_add(1, StdOrdering::Relaxed);
            });
        }
        assert!(ORDERS.load(StdOrdering::Relaxed) > 1_000);
    }

    #[test]
    fn panic_of_a_driver_is_that_of_its_keeper() {
        let slot = DriverSlot::<()>::new(async { panic!("a driver panics") });
        slot.poll_here();
        let keeper = slot.keep();
        let mut keeper = std::pin::pin!(keeper);
        let mut context = TaskContext::from_waker(Waker::noop());
        let panicked = catch_unwind(AssertUnwindSafe(|| keeper.as_mut().poll(&mut context)));
        assert!(panicked.is_err());
    }

    #[test]
    fn dropped_keeper_drops_the_driver_at_once_or_after_its_poll() {
        let dropped = Arc::new(());
        let held = dropped.clone();
        let slot = DriverSlot::<()>::new(async move {
            let _held = held;
            std::future::pending().await
        });
        slot.poll_here();
        drop(slot.clone().keep());
        assert_eq!(Arc::strong_count(&dropped), 1);
        let held = dropped.clone();
        let kept = Arc::new(parking_lot::Mutex::new(None::<Keeper<()>>));
        let keeper = kept.clone();
        let slot = DriverSlot::<()>::new(async move {
            let _held = held;
            drop(keeper.lock().take());
            std::future::pending().await
        });
        *kept.lock() = Some(slot.clone().keep());
        slot.poll_here();
        assert_eq!(Arc::strong_count(&dropped), 1);
    }
}
