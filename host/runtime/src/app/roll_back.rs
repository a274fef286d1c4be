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
            let module = self.previous(name, failed.is_some()).await?;
            self.publish(Proposal::RollBack { module, failed }).await
        };
        reverting.await.inspect_err(|error| {
            self.report_refusal(ChangeKind::RolledBack, name, None, error);
        })
    }

    /// The previous version, with the present values of its variables. If it was current in an earlier process, it comes from
    /// the state directory. After a failed trial it has the values that it had, since the present ones may be the fault (spec V1).
    async fn previous(&self, name: &str, is_failed_trial: bool) -> Result<Arc<Module>, Error> {
        let previous = {
            let state = self.open_state()?;
            let current = state.binder.expect_module(name)?;
            let previous = state.past.get(name).and_then(|past| past.previous.clone());
            previous.ok_or_else(|| current.options.clone())
        };
        let options = match previous {
            Ok(previous) => {
                if is_failed_trial {
                    return Ok(previous);
                }
                let present = self.with_present_variables(previous).await;
                return present.map_err(|error| error.in_module(name));
            }
            Err(options) => self.resolved(options).await.map_err(|error| error.in_module(name))?,
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

    /// The version with the present values of its variables.
    async fn with_present_variables(&self, version: Arc<Module>) -> Result<Arc<Module>, Error> {
        let options = self.resolved(version.options.clone()).await?;
        if options.variables == version.options.variables {
            return Ok(version);
        }
        version.with_variables(options.variables).map(Arc::new)
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
