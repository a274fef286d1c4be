//! Counts failures by code and party at fault.
//!
//! A module may invent codes, and the values of a label must be bounded: codes outside of the contract's list count together
//! under the label `other`. The table therefore has a fixed size, and counting is one relaxed addition.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{FailureCode, Fault};

/// The codes of the contract's list. The last label is for the codes outside of the list.
const LABELS: [&str; 17] = [
    "unknown-event",
    "ambiguous-event",
    "bad-payload",
    "already-replied",
    "invalid-reply",
    "too-large",
    "too-deep",
    "deadline",
    "overloaded",
    "conflict",
    "gone",
    "unrecorded",
    "not-durable",
    "not-remote",
    "unreachable",
    "failed",
    OTHER,
];

const OTHER: &str = "other";

/// The number of failures with one code and one party at fault since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailureCount {
    /// A code of the contract's list, or `other` for the codes that modules invent.
    pub code: &'static str,
    /// The party at fault.
    pub fault: Fault,
    /// The number of requests and events that failed this way.
    pub count: u64,
}

/// The failures of an application.
#[derive(Debug, Default)]
pub(crate) struct FailureCounts([[AtomicU64; Fault::ALL.len()]; LABELS.len()]);

/// The place of a code in [`LABELS`].
fn place(code: &FailureCode) -> usize {
    let known = LABELS.iter().position(|label| *label == code.as_str());
    known.unwrap_or(LABELS.len() - 1)
}

/// The label of a code: a word from a bounded list.
pub(crate) fn label(code: &FailureCode) -> &'static str {
    LABELS[place(code)]
}

impl FailureCounts {
    pub(crate) fn count(&self, code: &FailureCode, fault: Fault) {
        self.0[place(code)][fault as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// The counts that are not zero.
    pub(crate) fn snapshot(&self) -> Vec<FailureCount> {
        let rows = LABELS.into_iter().zip(&self.0);
        let counts = rows.flat_map(|(code, row)| {
            Fault::ALL.into_iter().zip(row).map(move |(fault, count)| FailureCount {
                code,
                fault,
                count: count.load(Ordering::Relaxed),
            })
        });
        counts.filter(|count| count.count > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_that_modules_invent_share_a_label() {
        let counts = FailureCounts::default();
        for code in ["one", "two", "other"] {
            counts.count(&FailureCode::new(code), Fault::Module);
        }
        counts.count(&FailureCode::OVERLOADED, Fault::Host);
        counts.count(&FailureCode::FAILED, Fault::Client);
        let counted: Vec<_> = counts
            .snapshot()
            .into_iter()
            .map(|FailureCount { code, fault, count }| (code, fault, count))
            .collect();
        let expected = [
            ("overloaded", Fault::Host, 1),
            ("failed", Fault::Client, 1),
            ("other", Fault::Module, 3),
        ];
        assert_eq!(counted, expected);
    }
}
