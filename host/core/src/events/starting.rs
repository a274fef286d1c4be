//! The conditions of readiness that are still open.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// The sentences of the open conditions.
#[derive(Clone, Debug, Default)]
pub(super) struct Starting(Arc<Mutex<BTreeSet<String>>>);

/// Keeps the application from being ready until it is dropped; see [`Bus::not_ready_until`](crate::Bus::not_ready_until).
#[derive(Debug)]
#[must_use = "it is done when this is dropped"]
pub struct StartGuard {
    starting: Starting,
    what: String,
}

impl Drop for StartGuard {
    fn drop(&mut self) {
        self.starting.0.lock().remove(&self.what);
    }
}

impl Starting {
    pub(super) fn begin(&self, what: String) -> StartGuard {
        self.0.lock().insert(what.clone());
        StartGuard {
            starting: self.clone(),
            what,
        }
    }

    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().iter().cloned().collect()
    }
}
