//! The trials of versions that were swapped in, and what follows from them.
//!
//! The maintenance of the application compares each version on trial with the version before. The counts of a version on trial are
//! recorded in the state directory when they change, and those of every version when the application closes, so that a restart
//! neither ends nor resets a trial. A process that is killed loses the calls since the last record.

use std::sync::Arc;

use super::App;
use crate::app::call_recorder::CallRecorder;
use crate::app::module::Module;
use crate::app::publish::FailedTrial;
use crate::scheduling::trial::TrialState;
use crate::store::VersionCalls;

impl App {
    /// Compares the versions that are on trial with those before them.
    pub(super) fn judge_trials(&self, modules: &[Arc<Module>]) {
        let mut versions = Vec::new();
        for module in modules.iter().filter(|module| module.admission().is_on_trial()) {
            let calls = module.call_counts();
            let (name, digest) = (&module.info.name, &module.info.digest);
            let time_on_trial = match module.admission().judge_trial(&calls) {
                Some(TrialState::Running(time)) => Some(time),
                Some(TrialState::Passed) => {
                    tracing::info!(module = name, digest, "the version passed its trial");
                    None
                }
                Some(TrialState::Failed(reason)) => {
                    self.end_failed_trial(module.clone(), reason);
                    continue;
                }
                None => continue,
            };
            versions.push(VersionCalls {
                module: name.clone(),
                digest: digest.clone(),
                calls,
                time_on_trial,
            });
        }
        if let Some(directory) = self.directory()
            && !versions.is_empty()
        {
            CallRecorder::record_in_background(&self.0.call_recorder, &self.0.threads, directory, versions);
        }
    }

    /// Rolls a version back that failed its trial.
    fn end_failed_trial(&self, version: Arc<Module>, reason: String) {
        let app = self.clone();
        self.0.threads.spawn_work(async move {
            let name = version.info.name.clone();
            tracing::error!(
                module = name,
                digest = version.info.digest,
                "the version failed its trial, and is rolled back: {reason}"
            );
            if let Err(error) = app.revert(&name, Some(FailedTrial { version, reason })).await {
                let error = pointwork_core::error_chain(&error);
                tracing::error!(module = name, "the version cannot be rolled back: {error}");
            }
        });
    }

    /// Records the counts of the current versions. Blocks.
    pub(super) fn record_calls(&self) {
        let Some(directory) = self.directory() else { return };
        let modules: Vec<_> = self.state().binder.modules().cloned().collect();
        let versions: Vec<_> = modules
            .iter()
            .map(|module| VersionCalls {
                module: module.info.name.clone(),
                digest: module.info.digest.clone(),
                calls: module.call_counts(),
                time_on_trial: module.admission().time_on_trial(),
            })
            .collect();
        self.0.call_recorder.record(&directory, &versions);
    }
}
