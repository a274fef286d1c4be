//! Rolls a module back to its previous version: when it is requested, and when a canary trial fails.

use std::sync::Arc;

use super::App;
use crate::app::changes::{Change, ChangeKind};
use crate::app::module::{Component, Module};
use crate::app::publish::{FailedTrial, Proposal};
use crate::{Error, ErrorKind};

impl App {
    /// Publishes the previous version. A refusal is reported as `server:refused`.
    pub(super) async fn revert(&self, name: &str, failed: Option<FailedTrial>) -> Result<Change, Error> {
        let reverting = async {
            let module = self.previous(name).await?;
            self.publish(Proposal::RollBack { module, failed }).await
        };
        reverting.await.inspect_err(|error| {
            self.report_refusal(ChangeKind::RolledBack, name, None, error);
        })
    }

    /// The previous version. If it was current in an earlier process, it comes from the state directory.
    async fn previous(&self, name: &str) -> Result<Arc<Module>, Error> {
        let options = {
            let state = self.open_state()?;
            let current = state.binder.expect_module(name)?;
            if let Some(previous) = state.past.get(name).and_then(|past| past.previous.clone()) {
                return Ok(previous);
            }
            current.options.clone()
        };
        let directory = self.directory();
        let recorded = directory.and_then(|directory| {
            let digest = directory.versions(name)?.previous?;
            Some((directory, digest))
        });
        let Some((directory, digest)) = recorded else {
            let message = format!("module `{name}` has no previous version to roll back to");
            return Err(Error::new(ErrorKind::Refused, message));
        };
        let component = self.recorded(name, directory, &digest).await?;
        let module = self
            .build(name, Component::new(component), options.digest(digest))
            .await;
        module.map(Arc::new).map_err(|error| error.in_module(name))
    }

    /// Begins the canary trial of a version: if it fails, the module is rolled back.
    pub(super) fn begin_trial(&self, module: &Arc<Module>) {
        let (inner, version) = (Arc::downgrade(&self.0), Arc::downgrade(module));
        module.admission().begin_trial(Box::new(move |reason| {
            let (Some(inner), Some(version)) = (inner.upgrade(), version.upgrade()) else {
                return;
            };
            let threads = inner.threads.clone();
            threads.spawn_work(async move {
                let app = App(inner);
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
        }));
    }
}
