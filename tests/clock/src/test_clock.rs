//! A clock whose time passes when the test says so.
//!
//! # Use
//! A test gives [`TestClock::clock`] to the options of its application and of its adapters, and moves the time with
//! [`TestClock::advance`]. The time never passes by itself. A test that has to know that something waits calls
//! [`TestClock::until_timer`], which completes when a timer with this remaining time exists.
//!
//! # Timers
//! All timers lie in one map, ordered by deadline and then by creation. A timer enters the map when the timer is made, and leaves
//! the map when it completes or is dropped. `advance` goes from one deadline to the next: `advance` sets the time to the earliest
//! deadline, wakes all timers of this deadline in the order of creation, and waits until the work that became due has run. Only
//! then does `advance` look for the next deadline. A timer that such work sets within the advanced time therefore fires at its own
//! deadline, within the same call of `advance`.
//!
//! # Knowing that the work has run
//! The work runs on the threads of several tokio runtimes: three of each application, and those of the test. Each of these
//! threads is *registered*: the application registers its own threads, and a test registers the threads of its runtimes with
//! [`TestClock::register_thread`]. The calling thread is registered for as long as `advance` runs.
//!
//! The work has run when all registered threads sleep in the kernel at the same instant. The clock reads the state of each
//! thread, and its number of context switches, from `/proc/self/task`. If two readings in a row show that every thread sleeps, and
//! the numbers are equal, then no thread has run between its two readings. All threads slept at the instant between the readings, and
//! no registered thread is left that could wake another one.
//!
//! ```text
//!   thread A   S 17 ····················· S 17        S 17: asleep, after 17 context switches
//!   thread B        S 40 ····················· S 40
//!              └ first reading ┘ ^ └ second reading ┘
//!                                └ both sleep here
//! ```
//!
//! A thread that starts registers a moment later, and the thread that started it may sleep by then. Therefore a thread that is not
//! registered counts too while the thread runs and has used less than 5 ms of a processor.
//!
//! The kernel marks a thread as runnable as soon as another thread wakes it, by a futex or by a socket, and not only when a
//! processor takes it up. Neither a loaded machine nor a guest that computes can make the clock go on too early. The counters of
//! tokio (`worker_park_unpark_count`, `global_queue_depth`) are no substitute: a worker that the kernel has woken counts as parked until
//! a processor takes it up, and the counters know nothing of threads that block or drive a future without a runtime.
//!
//! # Limits
//! The clock does not wait for:
//! - Threads that are not registered, other processes, and requests that a client sends during `advance`. A test waits for
//!   these by an event: a reply, a channel, the end of a connection.
//! - Work that never rests, such as a guest in an endless loop: `advance` panics after a minute and names the threads that run.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use event_listener::Event;
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use pointwork_core::{Clock, Sleep, TimeSource};

use crate::threads::ThreadList;
use crate::timers::{TestSleep, TimerQueue};

/// A clock that a test moves. Clones are the same clock.
#[derive(Clone, Debug)]
pub struct TestClock(Arc<ClockState>);

#[derive(Debug)]
pub(crate) struct ClockState {
    pub(crate) timers: Mutex<TimerQueue>,
    /// Notified when a timer is made, and when the time changes.
    changed: Event,
    threads: ThreadList,
    /// Held while the time is moved.
    moving: Mutex<()>,
}

impl TestClock {
    /// A clock that shows the present time and stands still.
    #[expect(clippy::disallowed_methods, reason = "a clock that stands still starts at some time")]
    pub fn new() -> Self {
        Self(Arc::new(ClockState {
            timers: Mutex::new(TimerQueue::new(Instant::now())),
            changed: Event::new(),
            threads: ThreadList::default(),
            moving: Mutex::default(),
        }))
    }

    /// The clock, for the options of applications and adapters.
    pub fn clock(&self) -> Clock {
        Clock::new(Arc::new(self.clone()))
    }

    /// The current time of the clock.
    pub fn now(&self) -> Instant {
        self.0.timers.lock().now
    }

    /// The clock waits for the work of the current thread, until the thread ends. A test calls this function on each thread of its
    /// runtimes, with `on_thread_start`.
    pub fn register_thread(&self) {
        self.0.threads.register();
    }

    /// Moves the time. Every timer whose deadline comes within `time` fires at its deadline. Returns when the work that became due
    /// has run.
    ///
    /// # Panics
    /// The work still runs after a minute.
    pub async fn advance(&self, time: Duration) {
        let clock = self.clone();
        self.on_thread(move || clock.advance_to(clock.now() + time)).await;
    }

    /// [`advance`](Self::advance) for a test without an executor.
    pub fn advance_blocking(&self, time: Duration) {
        self.advance_to(self.now() + time);
    }

    /// Waits until the work that is due has run. The time stays as it is.
    ///
    /// # Panics
    /// The work still runs after a minute.
    pub async fn settle(&self) {
        let clock = self.clone();
        self.on_thread(move || clock.0.threads.until_asleep()).await;
    }

    /// Waits until a timer exists whose deadline is `left` from now, give or take a millisecond: some deadlines are rounded up.
    pub async fn until_timer(&self, left: Duration) {
        self.until_timers(1, left).await;
    }

    /// Waits until `count` timers exist whose deadlines are `left` from now, give or take a millisecond.
    pub async fn until_timers(&self, count: usize, left: Duration) {
        loop {
            let changed = self.0.changed.listen();
            let timers = self.timers().into_iter();
            if timers.filter(|timer| timer.abs_diff(left) <= ROUNDING).count() >= count {
                return;
            }
            changed.await;
        }
    }

    /// Runs `work` to its end. As soon as a timer exists whose deadline is `left` from now, the time moves past this deadline.
    ///
    /// # Panics
    /// As [`advance`](Self::advance).
    pub async fn elapse<T>(&self, left: Duration, work: impl Future<Output = T>) -> T {
        let moving = async {
            self.until_timer(left).await;
            self.advance(left + ROUNDING).await;
        };
        match select(pin!(work), pin!(moving)).await {
            Either::Left((result, _)) => result,
            Either::Right(((), work)) => work.await,
        }
    }

    /// The remaining times of all timers, in order.
    pub fn timers(&self) -> Vec<Duration> {
        self.0.timers.lock().remaining()
    }

    fn advance_to(&self, end: Instant) {
        let _moving = self.0.moving.lock();
        loop {
            self.0.threads.until_asleep();
            let (due, at_end) = self.0.timers.lock().step(end);
            due.into_iter().for_each(std::task::Waker::wake);
            self.0.changed.notify(usize::MAX);
            if at_end {
                break;
            }
        }
        self.0.threads.until_asleep();
    }

    /// Runs `work` on a thread of its own, so that the calling thread can sleep meanwhile.
    async fn on_thread(&self, work: impl FnOnce() + Send + 'static) {
        let _caller = self.0.threads.register_for_now();
        let (done, ended) = futures_channel::oneshot::channel();
        std::thread::spawn(move || {
            work();
            let _ = done.send(());
        });
        ended.await.expect("the work that became due comes to rest");
    }
}

/// The rounding of a deadline that is kept in milliseconds.
const ROUNDING: Duration = Duration::from_millis(1);

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl TimeSource for TestClock {
    fn now(&self) -> Instant {
        self.now()
    }

    fn sleep_until(&self, deadline: Instant) -> Sleep {
        let id = self.0.timers.lock().add(deadline);
        self.0.changed.notify(usize::MAX);
        Box::pin(TestSleep::new(self.0.clone(), deadline, id))
    }

    fn register_thread(&self) {
        self.0.threads.register();
    }
}
