//! Records the counts of calls in the state directory.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::scheduling::threads::Threads;
use crate::store::VersionCalls;
use crate::{ErrorKind, StateDirectory};

/// Writes one record at a time, and logs only the first of several failures.
#[derive(Default)]
pub(super) struct CallRecorder {
    is_running: AtomicBool,
    /// Whether the last record could not be written.
    has_failed: AtomicBool,
}

impl CallRecorder {
    /// Records counts on a thread that may block. While an earlier record is being written, this one is left to the next tick. The end
    /// of a trial may be left out so, and a restart continues the trial for a moment.
    pub(super) fn record_in_background(
        self: &Arc<Self>,
        threads: &Arc<Threads>,
        directory: StateDirectory,
        versions: Vec<VersionCalls>,
    ) {
        if self.is_running.swap(true, Ordering::Relaxed) {
            return;
        }
        let (recorder, blocking) = (self.clone(), threads.clone());
        threads.spawn_work(async move {
            let recording = recorder.clone();
            let record = move || {
                recording.record(&directory, &versions);
                Ok(())
            };
            // It fails if the threads end, and then the application records the counts itself.
            let _ = blocking.blocking(ErrorKind::State, record).await;
            recorder.is_running.store(false, Ordering::Relaxed);
        });
    }

    /// Records counts. Blocks.
    pub(super) fn record(&self, directory: &StateDirectory, versions: &[VersionCalls]) {
        let recorded = directory.record_calls(versions);
        let had_failed = self.has_failed.swap(recorded.is_err(), Ordering::Relaxed);
        if let Err(error) = recorded
            && !had_failed
        {
            let reason = pointwork_core::error_chain(&error);
            tracing::warn!("the calls of modules are not recorded, so that a restart forgets them: {reason}");
        }
    }
}
