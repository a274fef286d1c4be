//! The call history of each handler and listener, which decides the priority of its next calls.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use pointwork_core::Sharded;

/// The interval of [`CallHistories::tick`].
pub(crate) const TICK: Duration = Duration::from_millis(500);

/// The number of ticks for which loops and crashes are remembered.
const MEMORY: u32 = 20;

/// The number of crashes within a tick that counts as crashing often, if it is at least one call in twenty.
const OFTEN: u64 = 10;

/// The recent calls of one handler or listener.
///
/// Each of them has its own history, so that a handler that loops or crashes does not slow down the others of its
/// module.
#[derive(Default)]
pub(crate) struct CallHistory {
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
    streams: AtomicBool,
}

/// Counts a looping call until it is dropped.
pub(crate) struct LoopingCall(Arc<CallHistory>);

impl Drop for LoopingCall {
    fn drop(&mut self) {
        self.0.looping.fetch_sub(1, Ordering::Relaxed);
    }
}

impl CallHistory {
    /// A call begins.
    pub(crate) fn called(&self) {
        self.calls.local().fetch_add(1, Ordering::Relaxed);
    }

    /// A call crashed, or the instance that it shared with others did.
    pub(crate) fn crashed(&self) {
        self.crashes.fetch_add(1, Ordering::Relaxed);
    }

    /// A call used up its time at normal priority.
    pub(crate) fn looped(self: &Arc<Self>) -> LoopingCall {
        self.loops.store(MEMORY, Ordering::Relaxed);
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
        // Only this function decreases the two.
        let decrease = |ticks: &AtomicU32| {
            ticks.store(ticks.load(Ordering::Relaxed).saturating_sub(1), Ordering::Relaxed);
        };
        if self.looping.load(Ordering::Relaxed) == 0 {
            decrease(&self.loops);
        }
        let calls = self.calls.all().map(|calls| calls.load(Ordering::Relaxed)).sum();
        let now = (calls, self.crashes.load(Ordering::Relaxed));
        let last = std::mem::replace(&mut *self.last.lock(), now);
        let (calls, crashes) = (now.0.saturating_sub(last.0), now.1.saturating_sub(last.1));
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

/// The call histories of one version of a module, with the names of their handlers and listeners for the log.
#[derive(Default)]
pub(crate) struct CallHistories(Mutex<HashMap<Callee, (String, Arc<CallHistory>)>>);

impl CallHistories {
    /// The history of a handler or listener, begun at the first call of this.
    pub(crate) fn history(&self, callee: Callee, name: impl FnOnce() -> String) -> Arc<CallHistory> {
        let mut histories = self.0.lock();
        let (_, history) = histories.entry(callee).or_insert_with(|| (name(), Arc::default()));
        history.clone()
    }

    /// Called every [`TICK`].
    pub(crate) fn tick(&self, module: &str) {
        for (name, history) in self.0.lock().values() {
            if history.tick() {
                tracing::warn!(
                    module,
                    "calls of `{name}` often crash: each now runs in an instance of its own, at low priority"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_are_remembered_for_a_while() {
        let history = Arc::<CallHistory>::default();
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
            let history = CallHistory::default();
            (0..crashes).for_each(|_| history.crashed());
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
        let history = CallHistory::default();
        (0..OFTEN).for_each(|_| history.crashed());
        history.tick();
        for _ in 0..MEMORY {
            assert!(history.crashes_often());
            history.tick();
        }
        assert!(!history.crashes_often());
    }

    #[test]
    fn a_handler_and_a_listener_of_the_same_number_have_two_histories() {
        let histories = CallHistories::default();
        let handler = histories.history(Callee::Handler(0), || "handler".into());
        let listener = histories.history(Callee::Listener(0), || "listener".into());
        assert!(!Arc::ptr_eq(&handler, &listener));
        assert!(Arc::ptr_eq(
            &handler,
            &histories.history(Callee::Handler(0), || "again".into())
        ));
    }
}
