//! The canary trial of a version that was swapped in.

use parking_lot::Mutex;

use crate::Trial;

/// Runs once, with the reason, when a version fails its trial.
pub(crate) type OnFailure = Box<dyn FnOnce(String) + Send>;

/// Watches the first calls of a version, and reports once if too many of them fail, by a crash or by an exception.
pub(super) struct CanaryTrial {
    pub(super) options: Trial,
    /// `None` before the trial begins, and once it failed or ended.
    on_failure: Mutex<Option<OnFailure>>,
}

impl CanaryTrial {
    pub(super) fn new(options: Trial) -> Self {
        Self {
            options,
            on_failure: Mutex::default(),
        }
    }

    /// Begins the trial, unless it is switched off.
    pub(super) fn begin(&self, on_failure: OnFailure) {
        if self.options.crashes > 0 {
            *self.on_failure.lock() = Some(on_failure);
        }
    }

    /// Whether the trial is on after so many calls.
    pub(super) fn is_on(&self, calls: u64) -> bool {
        calls < self.options.calls && self.on_failure.lock().is_some()
    }

    /// A call failed. `failed` of `calls` calls failed up to now.
    pub(super) fn failed(&self, failed: u64, calls: u64) {
        if self.options.crashes == 0 || failed < self.options.crashes {
            return;
        }
        // The lock is free when the function runs.
        let on_failure = self.on_failure.lock().take();
        if let Some(on_failure) = on_failure
            && calls <= self.options.calls
        {
            on_failure(format!("{failed} of its first {calls} calls failed"));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_version_fails_once() {
        let trial = CanaryTrial::new(Trial { calls: 10, crashes: 2 });
        let (sender, reasons) = channel();
        trial.begin(Box::new(move |reason| sender.send(reason).unwrap()));
        assert!(trial.is_on(0));
        for calls in 1..=5 {
            trial.failed(calls, calls);
        }
        assert!(!trial.is_on(5));
        let reasons: Vec<_> = reasons.try_iter().collect();
        assert_eq!(reasons, ["2 of its first 2 calls failed"]);
    }
}
