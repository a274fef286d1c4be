//! What is known of the calls of one handler or listener, and where they run because of it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often [`CallHistories::tick`] is called.
pub(crate) const TICK: Duration = Duration::from_millis(500);

/// For how many ticks it is known what calls did.
const MEMORY: u32 = 20;

/// How many crashes within a tick are many, if they are one call in twenty as well.
const MANY: u64 = 10;

/// What the calls of one handler or listener did lately.
///
/// It is kept for each of them, not for the module, so that a handler that loops or crashes costs the others of its module
/// nothing.
#[derive(Default)]
pub(crate) struct CallHistory {
    calls: AtomicU64,
    crashes: AtomicU64,
    /// The calls and the crashes when the last tick came.
    last: Mutex<(u64, u64)>,
    /// How many calls are in the slow lane for what they used themselves.
    slow: AtomicUsize,
    /// For how many more ticks it is known that calls loop.
    loops: AtomicU32,
    /// For how many more ticks it is known that calls crash, many of them.
    crashing: AtomicU32,
}

/// Counts a call in the slow lane for as long as it lives.
pub(crate) struct Slow(Arc<CallHistory>);

impl Drop for Slow {
    fn drop(&mut self) {
        self.0.slow.fetch_sub(1, Ordering::Relaxed);
    }
}

impl CallHistory {
    /// A call begins.
    pub(crate) fn called(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    /// A call crashed, or the instance did that it shared with others.
    pub(crate) fn crashed(&self) {
        self.crashes.fetch_add(1, Ordering::Relaxed);
    }

    /// A call used up its time in the fast lane.
    pub(crate) fn go_slow(self: &Arc<Self>) -> Slow {
        self.loops.store(MEMORY, Ordering::Relaxed);
        self.slow.fetch_add(1, Ordering::Relaxed);
        Slow(self.clone())
    }

    /// Whether calls loop, or did so a moment ago.
    pub(crate) fn loops(&self) -> bool {
        self.loops.load(Ordering::Relaxed) > 0
    }

    /// Whether many calls crash, or did so a moment ago. Such a call runs in the slow lane from its beginning, in an
    /// instance that no other call ever has.
    pub(crate) fn crashes_often(&self) -> bool {
        self.crashing.load(Ordering::Relaxed) > 0
    }

    /// Time goes by. Tells whether this is when many of its calls began to crash.
    fn tick(&self) -> bool {
        let less = |ticks: &AtomicU32| {
            // Nobody else makes it less.
            let left = ticks.load(Ordering::Relaxed).saturating_sub(1);
            ticks.store(left, Ordering::Relaxed);
        };
        if self.slow.load(Ordering::Relaxed) == 0 {
            less(&self.loops);
        }
        let now = (self.calls.load(Ordering::Relaxed), self.crashes.load(Ordering::Relaxed));
        let before = std::mem::replace(&mut *lock(&self.last), now);
        let (calls, crashes) = (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
        if crashes >= MANY && crashes.saturating_mul(20) >= calls {
            return self.crashing.swap(MEMORY, Ordering::Relaxed) == 0;
        }
        less(&self.crashing);
        false
    }
}

/// A handler or a listener, by the number that the module gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Entry {
    Handler(u32),
    Listener(u32),
}

/// The history of everything that a version of a module can be called for.
#[derive(Default)]
pub(crate) struct CallHistories(Mutex<HashMap<Entry, Named>>);

struct Named {
    name: String,
    history: Arc<CallHistory>,
}

impl CallHistories {
    /// What is known of an entry; nothing, if it is asked for the first time. The name is for the log.
    pub(crate) fn of(&self, entry: Entry, name: impl FnOnce() -> String) -> Arc<CallHistory> {
        let mut histories = lock(&self.0);
        let named = histories.entry(entry).or_insert_with(|| Named {
            name: name(),
            history: Arc::default(),
        });
        named.history.clone()
    }

    /// Time goes by, a [`TICK`] each.
    pub(crate) fn tick(&self, module: &str) {
        for Named { name, history } in lock(&self.0).values() {
            if history.tick() {
                tracing::warn!(
                    module,
                    "many calls of `{name}` crash: they have instances of their own now, behind other calls"
                );
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Each is changed in one step.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_for_a_while_that_calls_looped() {
        let history = Arc::<CallHistory>::default();
        let slow = history.go_slow();
        for _ in 0..2 * MEMORY {
            history.tick();
        }
        assert!(history.loops(), "it is at it still");
        drop(slow);
        for _ in 0..MEMORY {
            assert!(history.loops());
            history.tick();
        }
        assert!(!history.loops());
    }

    #[test]
    fn many_crashes_are_as_many_and_one_call_in_twenty() {
        let ticked = |crashes: u64, calls: u64| {
            let history = CallHistory::default();
            (0..crashes).for_each(|_| history.crashed());
            (0..calls).for_each(|_| history.called());
            let began = history.tick();
            assert_eq!(began, history.crashes_often());
            assert!(!history.tick(), "it is told once");
            began
        };
        assert!(ticked(MANY, MANY * 20));
        assert!(!ticked(MANY, MANY * 20 + 1), "most calls are well");
        assert!(!ticked(MANY - 1, MANY - 1), "so few are no burden");
    }

    #[test]
    fn crashes_are_forgotten() {
        let history = CallHistory::default();
        (0..MANY).for_each(|_| history.crashed());
        history.tick();
        for _ in 0..MEMORY {
            assert!(history.crashes_often());
            history.tick();
        }
        assert!(!history.crashes_often());
    }

    #[test]
    fn a_handler_and_a_listener_of_the_same_number_are_two() {
        let histories = CallHistories::default();
        let handler = histories.of(Entry::Handler(0), || "handler".into());
        let listener = histories.of(Entry::Listener(0), || "listener".into());
        assert!(!Arc::ptr_eq(&handler, &listener));
        assert!(Arc::ptr_eq(
            &handler,
            &histories.of(Entry::Handler(0), || "again".into())
        ));
    }
}
