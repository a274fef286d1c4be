//! The budgets of a call: log lines and emitted events.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::guest::limiter::Exceeded;

/// Counts down the budget of one call, or of all calls that share an instance at a time: which of them spends it is unknown
/// there.
#[derive(Debug)]
pub(crate) struct Budget {
    limit: &'static str,
    unit: &'static str,
    each: u32,
    shares: bool,
    /// The calls that run.
    running: AtomicU32,
    left: AtomicU32,
    /// Whether it was logged already that the budget is spent.
    logged: AtomicBool,
}

impl Budget {
    pub(crate) fn new(limit: &'static str, unit: &'static str, each: u32, shares: bool) -> Self {
        Self {
            limit,
            unit,
            each,
            shares,
            running: AtomicU32::new(0),
            left: AtomicU32::new(each),
            logged: AtomicBool::new(false),
        }
    }

    /// A call begins.
    pub(crate) fn begin_call(&self) {
        let before = if self.shares {
            self.running.load(Ordering::Relaxed)
        } else {
            0
        };
        let left = self.left.load(Ordering::Relaxed).saturating_add(self.each);
        self.set(before + 1, left);
        self.logged.store(false, Ordering::Relaxed);
    }

    /// A call of those that share the instance ends. What it did not use is not left to later calls.
    pub(crate) fn end_call(&self) {
        let running = self.running.load(Ordering::Relaxed).saturating_sub(1);
        self.set(running, self.left.load(Ordering::Relaxed));
    }

    /// No more is left than the calls that run may use together. Code that goes on after the last call has the budget of one.
    fn set(&self, running: u32, left: u32) {
        let most = self.each.saturating_mul(running.max(1));
        self.running.store(running, Ordering::Relaxed);
        self.left.store(left.min(most), Ordering::Relaxed);
    }

    /// Takes one. `Ok(Some)` if none is left and calls share the budget, which a trap would end together; this is logged
    /// once for each call that begins.
    ///
    /// # Errors
    /// If none is left and the budget is the call's own: ends the call.
    pub(crate) fn spend(&self, module: &str) -> Result<Option<Exceeded>, Exceeded> {
        // One instance runs on one thread at a time.
        let left = self.left.load(Ordering::Relaxed);
        if let Some(left) = left.checked_sub(1) {
            self.left.store(left, Ordering::Relaxed);
            return Ok(None);
        }
        let (limit, value, unit) = (self.limit, self.each.into(), self.unit);
        let exceeded = Exceeded { limit, value, unit };
        if !self.shares {
            return Err(exceeded);
        }
        if !self.logged.swap(true, Ordering::Relaxed) {
            tracing::error!(module, "{exceeded}: {unit} are dropped");
        }
        Ok(Some(exceeded))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spends(budget: &Budget) -> usize {
        let spent = std::iter::repeat_with(|| budget.spend("m")).take(100);
        spent.take_while(|spent| matches!(spent, Ok(None))).count()
    }

    #[test]
    fn each_call_has_its_own() {
        let budget = Budget::new("emits", "events", 3, false);
        assert_eq!(spends(&budget), 3, "before the first call");
        budget.begin_call();
        assert_eq!(budget.spend("m"), Ok(None));
        budget.begin_call();
        assert_eq!(spends(&budget), 3, "nothing is saved up");
        let exceeded = budget.spend("m").unwrap_err();
        assert_eq!(exceeded.to_string(), "the limit `emits` of 3 events was hit");
    }

    #[test]
    fn calls_that_share_an_instance_share_what_they_have_together() {
        let budget = Budget::new("log-lines", "lines", 3, true);
        spends(&budget);
        budget.begin_call();
        assert_eq!(spends(&budget), 3);
        budget.begin_call();
        budget.begin_call();
        assert_eq!(spends(&budget), 6, "what the calls have together");
    }

    #[test]
    fn what_an_ended_call_did_not_use_is_gone() {
        let budget = Budget::new("log-lines", "lines", 3, true);
        for _ in 0..5 {
            budget.begin_call();
        }
        for _ in 0..3 {
            budget.end_call();
        }
        assert_eq!(spends(&budget), 6, "two calls run");
        for _ in 0..5 {
            budget.end_call();
            budget.end_call();
            budget.begin_call();
            budget.begin_call();
        }
        budget.end_call();
        budget.end_call();
        assert_eq!(spends(&budget), 3, "code that goes on after the last call");
        assert_eq!(spends(&budget), 0);
    }

    #[test]
    fn it_is_logged_once_for_each_call() {
        let budget = Budget::new("log-lines", "lines", 0, true);
        assert!(budget.spend("m").is_ok_and(|exceeded| exceeded.is_some()));
        assert!(budget.logged.load(Ordering::Relaxed));
        budget.begin_call();
        assert!(!budget.logged.load(Ordering::Relaxed));
    }
}
