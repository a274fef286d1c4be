//! The call history of each handler and listener, which decides the priority of its next calls, and whether calls are admitted at all.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use pointwork_core::{Clock, Sharded};

use crate::Breaker;
use crate::call_counts::CallCountsByName;
use crate::scheduling::breaker::{BreakerState, CircuitBreaker, Opened};
use crate::scheduling::ended_calls::EndedCalls;
use crate::scheduling::held_places::{HandlerShare, HeldPlaces};
use crate::scheduling::status::{HeldBack, HeldBackState};

/// The interval of [`CallHistories::tick`].
pub(crate) const TICK: Duration = Duration::from_millis(500);

/// The number of ticks for which loops and crashes are remembered.
const MEMORY: u32 = 20;

/// The number of crashes within a tick that counts as crashing often, if it is at least one call in twenty.
const OFTEN: u64 = 10;

/// The number of handlers and listeners whose breakers must be open before the whole module is held back: three crafted requests
/// must not close a module.
const MOST_HELD_BACK: usize = 3;

/// The calls of one route or listener: the history of its handler, and the counts that a trial compares.
#[derive(Default)]
pub(crate) struct CallHistory {
    handler: Arc<HandlerHistory>,
    pub(super) ended: EndedCalls,
}

impl CallHistory {
    /// Whether both are of calls of one handler.
    pub(crate) fn shares_handler(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.handler, &other.handler)
    }
}

impl Deref for CallHistory {
    type Target = Arc<HandlerHistory>;

    fn deref(&self) -> &Arc<HandlerHistory> {
        &self.handler
    }
}

/// The recent calls of one handler, by any of its routes, or of one listener.
///
/// Each of them has its own history, so that a handler that loops or crashes does not slow down the others of its
/// module.
#[derive(Default)]
pub(crate) struct HandlerHistory {
    /// The name of the handler or listener, for the log.
    pub(crate) name: String,
    pub(crate) breaker: Arc<CircuitBreaker>,
    calls: Sharded<AtomicU64>,
    crashes: AtomicU64,
    /// Calls and crashes at the last tick.
    last: Mutex<(u64, u64)>,
    /// The number of calls that have low priority because of their own use.
    looping: AtomicUsize,
    /// The number of ticks for which calls still count as looping.
    loops: AtomicU32,
    /// The number of ticks for which calls still count as crashing often.
    crashing: AtomicU32,
    /// The number of ticks for which the last crash is remembered.
    crashed: AtomicU32,
    /// The number of ticks for which calls still count as computing for long.
    computing: AtomicU32,
    /// The number of ticks for which the handler still counts as called.
    called: AtomicU32,
    /// The places in instances that the calls hold.
    pub(super) places: HeldPlaces,
    streams: AtomicBool,
}

/// Counts a looping call until it is dropped.
pub(crate) struct LoopingCall(Arc<HandlerHistory>);

impl Drop for LoopingCall {
    fn drop(&mut self) {
        self.0.looping.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HandlerHistory {
    /// A call begins.
    pub(crate) fn called(&self) {
        self.calls.local().fetch_add(1, Ordering::Relaxed);
    }

    /// A call crashed. Returns whether this opened the circuit breaker.
    pub(crate) fn crashed(&self) -> Option<Opened> {
        self.crashes.fetch_add(1, Ordering::Relaxed);
        self.crashed.store(MEMORY, Ordering::Relaxed);
        self.breaker.crashed()
    }

    /// An instance crashed while several calls shared it, and it is unknown which call is at fault. The next calls run alone, so
    /// that a further crash has one cause.
    pub(crate) fn suspect(&self) {
        self.crashing.store(MEMORY, Ordering::Relaxed);
    }

    /// A call used up its time at normal priority. It counts as looping for a while.
    pub(crate) fn used_normal_priority(&self) {
        self.loops.store(MEMORY, Ordering::Relaxed);
    }

    /// A call used up its time at normal priority. It counts as looping until the result is dropped.
    pub(crate) fn looped(self: &Arc<Self>) -> LoopingCall {
        self.used_normal_priority();
        self.looping.fetch_add(1, Ordering::Relaxed);
        LoopingCall(self.clone())
    }

    /// Whether calls loop, or did so recently.
    pub(crate) fn loops(&self) -> bool {
        self.loops.load(Ordering::Relaxed) > 0
    }

    /// Whether calls often crash, or did so recently. Such a call runs at low priority from its beginning, in an
    /// instance that serves no other call.
    pub(crate) fn crashes_often(&self) -> bool {
        self.crashing.load(Ordering::Relaxed) > 0
    }

    /// Whether a call crashed in the last ten seconds. The report of a crash reads the debug information of the component, up to some 100 ms:
    /// such a call has no place on the server's threads.
    pub(crate) fn crashed_lately(&self) -> bool {
        self.crashed.load(Ordering::Relaxed) > 0
    }

    /// A call computed for longer than one time slice.
    pub(crate) fn computed_long(&self) {
        self.computing.store(MEMORY, Ordering::Relaxed);
    }

    /// Whether calls compute for longer than one time slice, or did so recently. Such a call shares an instance
    /// with others that do alone.
    pub(crate) fn computes_long(&self) -> bool {
        self.computing.load(Ordering::Relaxed) > 0
    }

    /// Whether slow calls hold as many places in instances as they may, so that the next call has to wait.
    pub(crate) fn holds_its_share(&self, share: HandlerShare, now: Instant) -> bool {
        self.places.are_taken(share, now, self.computes_long())
    }

    /// Whether the handler has its share of the instances of a synchronous module, without the call that asks, which may be counted.
    pub(crate) fn has_its_instances(&self, share: HandlerShare, now: Instant, is_counted: bool) -> bool {
        self.places
            .instances_are_taken(share, now, self.computes_long(), is_counted)
    }

    /// The places in instances that the calls hold.
    pub(crate) fn places(&self) -> &HeldPlaces {
        &self.places
    }

    /// A call began to wait for its client.
    pub(crate) fn streamed(&self) {
        self.streams.store(true, Ordering::Relaxed);
    }

    /// Whether a call ever waited for its client. Such a call takes its slot before its instance: one that waited for a slot
    /// in an instance would hold it.
    pub(crate) fn streams(&self) -> bool {
        self.streams.load(Ordering::Relaxed)
    }

    /// Called every [`TICK`]. Returns whether its calls began to crash often.
    fn tick(&self) -> bool {
        // Only this function decreases them.
        let decrease = |ticks: &AtomicU32| {
            ticks.store(ticks.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
        };
        if self.looping.load(Ordering::Relaxed) == 0 {
            decrease(&self.loops);
        }
        decrease(&self.computing);
        decrease(&self.crashed);
        let calls = self.calls.all().map(|calls| calls.load(Ordering::Relaxed)).sum();
        let now = (calls, self.crashes.load(Ordering::Relaxed));
        let last = std::mem::replace(&mut *self.last.lock(), now);
        let (calls, crashes) = (now.0.saturating_sub(last.0), now.1.saturating_sub(last.1));
        if calls > 0 {
            self.called.store(MEMORY, Ordering::Relaxed);
        } else {
            decrease(&self.called);
        }
        if crashes >= OFTEN && crashes.saturating_mul(20) >= calls {
            return self.crashing.swap(MEMORY, Ordering::Relaxed) == 0;
        }
        decrease(&self.crashing);
        false
    }
}

/// A handler or a listener, by its number in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Callee {
    Handler(u32),
    Listener(u32),
}

/// The call histories of one version of a module.
pub(crate) struct CallHistories {
    breaker: Breaker,
    clock: Clock,
    histories: Mutex<HashMap<Callee, Arc<HandlerHistory>>>,
    /// Those of routes and listeners, by their names.
    counted: Mutex<HashMap<(Callee, String), Arc<CallHistory>>>,
    /// The counts of an earlier time in which the version was current.
    earlier: Mutex<CallCountsByName>,
}

impl CallHistories {
    pub(crate) fn new(breaker: Breaker, clock: Clock) -> Self {
        Self {
            breaker,
            clock,
            histories: Mutex::default(),
            counted: Mutex::default(),
            earlier: Mutex::default(),
        }
    }

    /// The history of the calls of one route, or of a listener, under the name that stays the same in other versions.
    pub(crate) fn counted(&self, callee: Callee, route: String, name: impl FnOnce() -> String) -> Arc<CallHistory> {
        let mut counted = self.counted.lock();
        let history = counted
            .entry((callee, route))
            .or_insert_with(|| self.uncounted(callee, name));
        history.clone()
    }

    /// The history of calls that no trial compares.
    pub(crate) fn uncounted(&self, callee: Callee, name: impl FnOnce() -> String) -> Arc<CallHistory> {
        Arc::new(CallHistory {
            handler: self.history(callee, name),
            ended: EndedCalls::default(),
        })
    }

    /// Begins to count ended calls, from the counts of an earlier time.
    pub(crate) fn begin_counts(&self, earlier: CallCountsByName) {
        self.counted.lock().values().for_each(|history| history.ended.reset());
        *self.earlier.lock() = earlier;
    }

    /// The counts of the routes and listeners that were called.
    pub(crate) fn counts(&self) -> CallCountsByName {
        let mut counts = self.earlier.lock().clone();
        for ((_, name), history) in &*self.counted.lock() {
            let ended = history.ended.counts();
            if ended.calls > 0 {
                counts.entry(name.clone()).or_default().add(ended);
            }
        }
        counts
    }

    /// The history of a handler or listener, begun at the first call of this.
    fn history(&self, callee: Callee, name: impl FnOnce() -> String) -> Arc<HandlerHistory> {
        let mut histories = self.histories.lock();
        let history = histories.entry(callee).or_insert_with(|| {
            Arc::new(HandlerHistory {
                name: name(),
                breaker: CircuitBreaker::new(self.breaker.clone(), self.clock.clone()),
                ..HandlerHistory::default()
            })
        });
        history.clone()
    }

    /// Called every [`TICK`]. Returns whether the whole module is held back: at least three breakers are open, and at least half
    /// of those of the handlers and listeners that were called in the last 10 s.
    pub(crate) fn tick(&self, module: &str) -> bool {
        let (mut called, mut open) = (0, 0);
        for history in self.histories.lock().values() {
            if history.tick() {
                tracing::warn!(
                    module,
                    "calls of `{}` often crash: each now runs in an instance of its own, at low priority",
                    history.name
                );
            }
            if history.called.load(Ordering::Relaxed) > 0 {
                called += 1;
                open += usize::from(matches!(history.breaker.state(), Some(BreakerState::Open(_))));
            }
        }
        open >= MOST_HELD_BACK && 2 * open >= called
    }

    /// The handlers and listeners whose breakers are open or half-open, sorted by name.
    pub(crate) fn held_back(&self) -> Vec<HeldBack> {
        let histories = self.histories.lock();
        let held_back = histories.values().filter_map(|history| {
            let (state, rest) = match history.breaker.state()? {
                BreakerState::Open(rest) => (HeldBackState::Open, rest),
                BreakerState::HalfOpen => (HeldBackState::HalfOpen, Duration::ZERO),
            };
            Some(HeldBack {
                name: history.name.clone(),
                state,
                rest: u64::try_from(rest.as_millis()).unwrap_or(u64::MAX),
            })
        });
        let mut held_back: Vec<_> = held_back.collect();
        held_back.sort_by(|one, other| one.name.cmp(&other.name));
        held_back
    }
}

#[cfg(test)]
mod tests {
    use pointwork_test_clock::TestClock;

    use super::*;

    #[test]
    fn loops_are_remembered_for_a_while() {
        let history = Arc::<HandlerHistory>::default();
        let call = history.looped();
        for _ in 0..2 * MEMORY {
            history.tick();
        }
        assert!(history.loops(), "a call still loops");
        drop(call);
        for _ in 0..MEMORY {
            assert!(history.loops());
            history.tick();
        }
        assert!(!history.loops());
    }

    #[test]
    fn often_is_ten_crashes_and_one_call_in_twenty() {
        let ticked = |crashes: u64, calls: u64| {
            let history = HandlerHistory::default();
            for _ in 0..crashes {
                history.crashed();
            }
            (0..calls).for_each(|_| history.called());
            let began = history.tick();
            assert_eq!(began, history.crashes_often());
            assert!(!history.tick(), "it is reported once");
            began
        };
        assert!(ticked(OFTEN, OFTEN * 20));
        assert!(!ticked(OFTEN, OFTEN * 20 + 1), "most calls do not crash");
        assert!(!ticked(OFTEN - 1, OFTEN - 1), "there are too few");
    }

    #[test]
    fn crashes_are_forgotten() {
        let history = HandlerHistory::default();
        for _ in 0..OFTEN {
            history.crashed();
        }
        history.tick();
        for _ in 0..MEMORY {
            assert!(history.crashes_often());
            history.tick();
        }
        assert!(!history.crashes_often());
    }

    #[test]
    fn a_handler_and_a_listener_of_the_same_number_have_two_histories() {
        let histories = CallHistories::new(Breaker::new(), Clock::real());
        let handler = histories.history(Callee::Handler(0), || "handler".into());
        let listener = histories.history(Callee::Listener(0), || "listener".into());
        assert!(!Arc::ptr_eq(&handler, &listener));
        assert!(Arc::ptr_eq(
            &handler,
            &histories.history(Callee::Handler(0), || "again".into())
        ));
    }

    #[test]
    fn a_module_is_held_back_by_three_handlers_and_half_of_those_that_are_called() {
        let one_crash = Breaker {
            crashes: 1,
            ..Breaker::new()
        };
        let is_held_back = |crashing: u32, others: u32| {
            let histories = CallHistories::new(one_crash.clone(), TestClock::new().clock());
            for number in 0..crashing + others {
                let history = histories.history(Callee::Handler(number), || number.to_string());
                history.called();
                if number < crashing {
                    assert!(history.crashed().is_some());
                }
            }
            // Nobody calls it, so that it does not count.
            histories.history(Callee::Handler(1000), || "idle".to_owned());
            let is_held_back = histories.tick("shop");
            assert_eq!(histories.held_back().len(), crashing as usize);
            is_held_back
        };
        assert!(!is_held_back(2, 0), "two are too few");
        assert!(is_held_back(3, 3));
        assert!(!is_held_back(3, 4), "most handlers do not crash");
    }
}
