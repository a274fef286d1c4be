use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering as StdOrdering};

use loom::sync::Mutex;
use loom::sync::atomic::{AtomicUsize as Events, Ordering};

use super::*;

/// An instance whose driver notes how many events it has seen, and whose keeper and helper are woken by a flag.
struct Model {
    slot: Mutex<Slot<usize, (), u8>>,
    events: Events,
    keeper: Arc<Flag>,
    helper: Flag,
}

/// Whether a task was woken. A mutex, since in loom the end of a thread orders no atomic operations.
#[derive(Default)]
struct Flag(Mutex<bool>);

impl Flag {
    fn set(&self) {
        *self.0.lock().expect("no thread panics") = true;
    }

    fn take(&self) -> bool {
        std::mem::take(&mut self.0.lock().expect("no thread panics"))
    }
}

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.set();
    }
}

impl Model {
    fn new() -> Self {
        let keeper = Arc::new(Flag::default());
        let mut slot = Slot::new(0);
        slot.keeper = Some(Waker::from(keeper.clone()));
        Self {
            slot: Mutex::new(slot),
            events: Events::new(0),
            keeper,
            helper: Flag::default(),
        }
    }

    fn lock(&self) -> loom::sync::MutexGuard<'_, Slot<usize, (), u8>> {
        self.slot.lock().expect("no thread panics")
    }

    fn wake(&self, next: Option<Next>) {
        match next {
            Some(Next::Keeper(keeper)) => keeper.wake(),
            Some(Next::Helper) => self.helper.set(),
            None => {}
        }
    }

    /// Polls the driver, and runs the work after the first poll.
    fn poll_until_it_waits(&self, thread: u8, work: impl Fn()) -> bool {
        let left = Cell::new(true);
        let poll = |seen: &mut usize| {
            *seen = self.events.load(Ordering::SeqCst);
            let (left, work) = (&left, &work);
            let works = move |begin: &mut dyn FnMut()| {
                let any = left.replace(false);
                if any {
                    begin();
                    work();
                }
                any
            };
            (None, works)
        };
        poll_in_place(|| self.lock(), thread, poll, || false)
    }

    fn poll(&self, thread: u8, work: impl Fn()) {
        if self.poll_until_it_waits(thread, work) {
            let next = self.lock().notify(Some(thread));
            self.wake(next);
        }
    }

    fn keep(&self, thread: u8, work: impl Fn()) {
        self.lock().begin_keeping(&Waker::from(self.keeper.clone()));
        let has_more = self.poll_until_it_waits(thread, work);
        self.lock().end_keeping();
        if has_more {
            self.keeper.set();
        }
    }

    fn event(&self, by: Option<u8>) {
        self.events.fetch_add(1, Ordering::SeqCst);
        let next = self.lock().notify(by);
        self.wake(next);
    }

    fn run_woken(&self, thread: u8) {
        if self.helper.take() {
            self.poll(thread, || ());
        }
        if self.keeper.take() {
            self.keep(thread, || ());
        }
    }

    /// The driver has seen every event, once the tasks that were woken have run.
    fn check(&self) {
        self.run_woken(0);
        assert_eq!(self.lock().driver, Some(self.events.load(Ordering::SeqCst)));
    }
}

fn in_every_order(test: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    let orders = Arc::new(AtomicUsize::new(0));
    let count = orders.clone();
    model.check(move || {
        test();
        count.fetch_add(1, StdOrdering::Relaxed);
    });
    assert!(orders.load(StdOrdering::Relaxed) > 100, "{orders:?}");
}

/// Requests that poll the driver, events of other threads, and the keeper: in every order the driver sees every event.
#[test]
fn no_order_of_polls_and_events_loses_an_event() {
    for has_work in [false, true] {
        in_every_order(move || {
            let instance = loom::sync::Arc::new(Model::new());
            let work = move |instance: &Model, thread| {
                if has_work {
                    instance.event(Some(thread));
                }
            };
            let request = {
                let instance = instance.clone();
                loom::thread::spawn(move || {
                    instance.events.fetch_add(1, Ordering::SeqCst);
                    instance.poll(1, || work(&instance, 1));
                })
            };
            let other = {
                let instance = instance.clone();
                loom::thread::spawn(move || {
                    instance.event(Some(2));
                    if instance.keeper.take() {
                        instance.keep(2, || work(&instance, 2));
                    }
                })
            };
            instance.events.fetch_add(1, Ordering::SeqCst);
            instance.poll(3, || ());
            request.join().expect("it does not panic");
            other.join().expect("it does not panic");
            instance.check();
        });
    }
}

/// A work of the keeper's task, or of a request, that waits for what another thread causes: while it waits, a task that can be
/// polled is woken for every event, also for one of the thread itself.
#[test]
fn a_work_may_wait_for_an_event_of_its_own_instance() {
    for is_keeper in [false, true] {
        in_every_order(move || {
            let instance = loom::sync::Arc::new(Model::new());
            let other = {
                let instance = instance.clone();
                loom::thread::spawn(move || {
                    instance.event(Some(2));
                    instance.event(Some(2));
                })
            };
            let other = Cell::new(Some(other));
            let blocks = || {
                if let Some(other) = other.take() {
                    instance.event(None);
                    other.join().expect("it does not panic");
                    // The keeper's task cannot be polled while it runs the work.
                    if !is_keeper && instance.keeper.take() {
                        instance.keep(2, || ());
                    }
                    if instance.helper.take() {
                        instance.poll(2, || ());
                    }
                    assert_eq!(instance.lock().driver, Some(instance.events.load(Ordering::SeqCst)));
                }
            };
            if is_keeper {
                instance.keep(1, blocks);
            } else {
                instance.poll(1, blocks);
            }
            instance.check();
        });
    }
}

fn threads() -> Arc<Threads> {
    Arc::new(Threads::start(pointwork_core::Clock::real()).expect("threads"))
}

#[test]
fn panic_of_a_driver_is_that_of_its_keeper() {
    let slot = DriverSlot::<()>::new(async { panic!("a driver panics") }, threads());
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
    let slot = DriverSlot::<()>::new(
        async move {
            let _held = held;
            std::future::pending().await
        },
        threads(),
    );
    slot.poll_here();
    drop(slot.clone().keep());
    assert_eq!(Arc::strong_count(&dropped), 1);
    let held = dropped.clone();
    let kept = Arc::new(parking_lot::Mutex::new(None::<Keeper<()>>));
    let keeper = kept.clone();
    let slot = DriverSlot::<()>::new(
        async move {
            let _held = held;
            drop(keeper.lock().take());
            std::future::pending().await
        },
        threads(),
    );
    *kept.lock() = Some(slot.clone().keep());
    slot.poll_here();
    assert_eq!(Arc::strong_count(&dropped), 1);
}
