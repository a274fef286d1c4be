//! The numbers of ended and of failed calls, by which versions of a module are compared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The calls of one route or listener that ended well or by their own fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct CallCounts {
    /// All of them.
    pub(crate) calls: u64,
    /// Those that a crash or an exception ended.
    pub(crate) failed: u64,
    /// Whether a call of this route or listener opened the circuit breaker.
    pub(crate) breaker_opened: bool,
}

/// The counts of a version, each under the name of its route (`GET /products/:id`, without a prefix) or listener (`db:product:all`).
pub(crate) type CallCountsByName = BTreeMap<String, CallCounts>;

impl CallCounts {
    pub(crate) fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.failed = self.failed.saturating_add(other.failed);
        self.breaker_opened |= other.breaker_opened;
    }

    /// Whether the share of failed calls exceeds that of the others by more than so many percentage points. No calls have the share 0.
    pub(crate) fn exceeds(self, others: Self, points: u64) -> bool {
        let (calls, failed) = (u128::from(self.calls), u128::from(self.failed));
        let (other_calls, other_failed) = (u128::from(others.calls.max(1)), u128::from(others.failed));
        // failed / calls > other_failed / other_calls + points / 100, without a division.
        let allowed = calls
            .saturating_mul(other_failed)
            .saturating_mul(100)
            .saturating_add(calls.saturating_mul(other_calls).saturating_mul(u128::from(points)));
        failed.saturating_mul(other_calls).saturating_mul(100) > allowed
    }
}
