//! The places in instances that the calls of one handler or listener hold. A handler gets no more than three quarters of the instances of its
//! module, so that the other handlers go on (spec E7). The rule is for handlers with slow calls. In a synchronous module with four
//! instances or more it is for every handler: a burst of calls would have all instances before one of the calls is slow.
//!
//! The thresholds are absolute: relative ones could be trained by an attacker, whose calls would make slow what is slow elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pointwork_core::{Shard, Sharded};
use tokio::sync::{Mutex as Line, MutexGuard, Notify};

use crate::scheduling::call_history::CallHistory;

/// A call that is older makes its handler slow.
const SLOW: Duration = Duration::from_millis(100);

/// The number of instances from which on a handler of a synchronous module never has all instances.
const STRICT: usize = 4;

/// See the [module](self).
#[derive(Default)]
pub(crate) struct HeldPlaces {
    /// When each call began to hold its place. A call of the synchronous form that ends at once holds none.
    held: Sharded<Mutex<Vec<Instant>>>,
    /// The number of calls of the synchronous form that have an instance.
    running: Sharded<AtomicUsize>,
    /// Held by the first of the calls that wait until their handler has a place.
    line: Line<()>,
    /// The number of calls that wait for an instance.
    waiting: AtomicUsize,
    freed: Notify,
}

/// A place that a call holds until it is dropped.
pub(crate) struct HeldPlace {
    history: Shard<Arc<CallHistory>>,
    /// The shard that counts it.
    shard: Shard<Mutex<Vec<Instant>>>,
    since: Instant,
}

/// Counts a call of the synchronous form that has an instance, until it is dropped.
pub(crate) struct RunningCall<'a> {
    history: &'a CallHistory,
    /// The shard that counts it.
    shard: &'a AtomicUsize,
}

/// The part of a module's instances that a handler with slow calls may hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HandlerShare {
    /// The instances that the module can have.
    pub(crate) of: usize,
    /// The calls that share an instance.
    pub(crate) in_flight: usize,
}

impl HandlerShare {
    /// The most instances.
    pub(crate) fn instances(self) -> usize {
        (self.of.saturating_mul(3) / 4).max(1)
    }

    /// The most places.
    fn places(self) -> usize {
        self.instances().saturating_mul(self.in_flight)
    }

    /// Whether something is left for the other handlers.
    pub(crate) fn is_a_part(self) -> bool {
        self.of > 1
    }

    /// Whether the calls of one handler can hold its share, if so many instances exist.
    pub(crate) fn can_be_held(self, instances: usize) -> bool {
        self.is_a_part() && instances >= self.instances()
    }
}

impl HeldPlaces {
    /// A call of that history takes a place.
    pub(crate) fn hold(history: &Shard<Arc<CallHistory>>, since: Instant) -> HeldPlace {
        let shard = history.places.held.local().clone();
        shard.lock().push(since);
        HeldPlace {
            history: history.clone(),
            shard,
            since,
        }
    }

    /// Counts a call of the synchronous form, which is to have an instance.
    pub(crate) fn run(history: &CallHistory) -> RunningCall<'_> {
        let shard = &**history.places.running.local();
        shard.fetch_add(1, Ordering::SeqCst);
        RunningCall { history, shard }
    }

    /// Whether the calls hold as many places as slow calls may, and one of them is older than [`SLOW`], or they `compute_long`.
    pub(super) fn are_taken(&self, share: HandlerShare, now: Instant, compute_long: bool) -> bool {
        let places = self.held.all().map(|held| held.lock().len()).sum::<usize>();
        places >= share.places() && (compute_long || self.are_old(now))
    }

    /// Whether the handler has its share of the instances of a synchronous module, without the call that asks, which may be counted.
    pub(super) fn instances_are_taken(
        &self,
        share: HandlerShare,
        now: Instant,
        compute_long: bool,
        is_counted: bool,
    ) -> bool {
        let running = self
            .running
            .all()
            .map(|running| running.load(Ordering::SeqCst))
            .sum::<usize>();
        running >= share.instances() + usize::from(is_counted)
            && (share.of >= STRICT || compute_long || self.are_old(now))
    }

    /// Whether a call is older than [`SLOW`].
    fn are_old(&self, now: Instant) -> bool {
        let is_old = |since: &Instant| now.saturating_duration_since(*since) > SLOW;
        self.held.all().any(|held| held.lock().iter().any(is_old))
    }

    /// Tells a call that waits that another one has ended.
    fn tell(&self) {
        fence(Ordering::SeqCst);
        if self.are_awaited() {
            self.freed.notify_one();
        }
    }

    /// Whether calls wait for an instance.
    pub(crate) fn are_awaited(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Counts a call of that history that waits for an instance; `None` if so many wait already that they would fill three quarters of
    /// a queue.
    pub(super) fn wait(history: &Arc<CallHistory>, queue: usize) -> Option<WaitingCall> {
        let before = history.places.waiting.fetch_add(1, Ordering::SeqCst);
        let waiting = WaitingCall(history.clone());
        (before < queue - queue / 4).then_some(waiting)
    }

    /// Waits in the line of the handler. No other call of the handler passes before the result is dropped.
    ///
    /// # Cancel safety
    /// Cancelled, the call leaves the line.
    pub(crate) async fn turn(&self) -> Turn<'_> {
        Turn {
            freed: &self.freed,
            _first: self.line.lock().await,
        }
    }
}

/// The first of the calls that wait for places of their handler.
pub(crate) struct Turn<'a> {
    freed: &'a Notify,
    _first: MutexGuard<'a, ()>,
}

impl Turn<'_> {
    /// Waits until places are not `taken`.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub(crate) async fn until_free(&self, taken: impl Fn() -> bool) {
        loop {
            let freed = self.freed.notified();
            // A call that ends tells this one, or holds nothing any more.
            fence(Ordering::SeqCst);
            if !taken() {
                return;
            }
            freed.await;
        }
    }
}

impl Drop for HeldPlace {
    fn drop(&mut self) {
        let mut held = self.shard.lock();
        // Equal ones are one like the other.
        if let Some(at) = held.iter().position(|since| *since == self.since) {
            held.swap_remove(at);
        }
        drop(held);
        self.history.places.tell();
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.shard.fetch_sub(1, Ordering::SeqCst);
        self.history.places.tell();
    }
}

/// Counts a call that waits for an instance, until it is dropped.
pub(crate) struct WaitingCall(Arc<CallHistory>);

impl Drop for WaitingCall {
    fn drop(&mut self) {
        self.0.places.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future as _;
    use std::pin::pin;
    use std::task::{Context, Waker};

    use pointwork_test_clock::TestClock;

    use super::*;

    fn history() -> Shard<Arc<CallHistory>> {
        Sharded::of(Arc::<CallHistory>::default()).local().clone()
    }

    fn share(of: usize, in_flight: usize) -> HandlerShare {
        HandlerShare { of, in_flight }
    }

    #[test]
    fn a_slow_handler_has_three_quarters_of_the_instances() {
        for (instances, expected) in [(1, 1), (2, 1), (3, 2), (4, 3), (5, 3), (8, 6), (128, 96)] {
            assert_eq!(share(instances, 1).instances(), expected, "{instances}");
        }
    }

    #[test]
    fn places_are_taken_once_a_call_is_slow() {
        let (time, history) = (TestClock::new(), history());
        let share = share(4, 1);
        let now = || time.clock().now();
        let held: Vec<_> = (0..3).map(|_| HeldPlaces::hold(&history, now())).collect();
        assert!(!history.holds_its_share(share, now()), "none is slow");
        time.advance_blocking(SLOW);
        assert!(!history.holds_its_share(share, now()), "not yet");
        time.advance_blocking(Duration::from_millis(1));
        assert!(history.holds_its_share(share, now()));
        let further = HeldPlaces::hold(&history, now());
        drop(held);
        assert!(!history.holds_its_share(share, now()), "one is left");
        drop(further);
    }

    #[test]
    fn places_are_taken_by_calls_that_compute() {
        let (time, history) = (TestClock::new(), history());
        let share = share(4, 8);
        let now = || time.clock().now();
        let _held: Vec<_> = (0..24).map(|_| HeldPlaces::hold(&history, now())).collect();
        assert!(!history.holds_its_share(share, now()));
        history.computed_long();
        assert!(history.holds_its_share(share, now()));
    }

    #[test]
    fn a_burst_never_has_all_instances_of_four_or_more() {
        let (time, history) = (TestClock::new(), history());
        let now = || time.clock().now();
        let taken = |of, is_counted| history.has_its_instances(share(of, 1), now(), is_counted);
        let running: Vec<_> = (0..3).map(|_| HeldPlaces::run(&history)).collect();
        assert!(taken(4, false), "a fourth has to wait");
        assert!(!taken(4, true), "the third may go on");
        assert!(!taken(3, false), "of three, a burst may have all");
        history.computed_long();
        assert!(taken(3, false));
        drop(running);
        assert!(!taken(3, false));
    }

    #[test]
    fn calls_wait_in_line_for_places() {
        let (time, history) = (TestClock::new(), history());
        let share = share(1, 1);
        history.computed_long();
        let held = HeldPlaces::hold(&history, time.clock().now());
        let taken = || history.holds_its_share(share, time.clock().now());
        let turn = async || {
            let turn = history.places.turn().await;
            turn.until_free(taken).await;
            turn
        };
        let _waiting = [(); 2].map(|()| HeldPlaces::wait(&history, 2).expect("the queue has room"));
        assert!(HeldPlaces::wait(&history, 2).is_none());
        let (mut first, mut second) = (pin!(turn()), pin!(turn()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll(&mut context).is_pending());
        assert!(second.as_mut().poll(&mut context).is_pending());
        drop(held);
        let passed = first.as_mut().poll(&mut context);
        assert!(passed.is_ready());
        assert!(second.as_mut().poll(&mut context).is_pending(), "one at a time");
        drop(passed);
        assert!(second.as_mut().poll(&mut context).is_ready());
    }
}
