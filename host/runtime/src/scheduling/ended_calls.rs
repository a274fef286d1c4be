//! Counts the calls of one route or listener, by how they ended.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use pointwork_core::Sharded;

use crate::call_counts::CallCounts;

/// The calls of one route or listener that ended since its version became current. A call that ends well changes only a counter of its
/// thread. A call that was refused, cancelled or ended by the crash of another call is not counted.
#[derive(Default)]
pub(crate) struct EndedCalls {
    succeeded: Sharded<AtomicU64>,
    failed: AtomicU64,
    breaker_opened: AtomicBool,
}

impl EndedCalls {
    pub(super) fn succeeded(&self) {
        self.succeeded.local().fetch_add(1, Ordering::Relaxed);
    }

    /// A crash or an exception ended a call.
    pub(super) fn failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// A call opened the circuit breaker.
    pub(super) fn opened_breaker(&self) {
        self.breaker_opened.store(true, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> CallCounts {
        let succeeded: u64 = self.succeeded.all().map(|calls| calls.load(Ordering::Relaxed)).sum();
        let failed = self.failed.load(Ordering::Relaxed);
        CallCounts {
            calls: succeeded + failed,
            failed,
            breaker_opened: self.breaker_opened.load(Ordering::Relaxed),
        }
    }

    /// Forgets all calls.
    pub(super) fn reset(&self) {
        self.succeeded.all().for_each(|calls| calls.store(0, Ordering::Relaxed));
        self.failed.store(0, Ordering::Relaxed);
        self.breaker_opened.store(false, Ordering::Relaxed);
    }
}
