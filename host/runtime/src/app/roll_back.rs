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
            let versions = directory.versions(name)?;
            Some((directory, versions.previous?, versions.previous_calls))
        });
        let Some((directory, digest, calls)) = recorded else {
            let message = format!("module `{name}` has no previous version to roll back to");
            return Err(Error::new(ErrorKind::Refused, message));
        };
        let component = self.recorded(name, directory, &digest).await?;
        let module = self
            .build(name, Component::new(component), options.digest(digest))
            .await
            .map_err(|error| error.in_module(name))?;
        module.continue_counts(calls);
        Ok(Arc::new(module))
    }

    /// The version with the present values of its variables.
    async fn with_present_variables(&self, version: Arc<Module>) -> Result<Arc<Module>, Error> {
        let options = self.resolved(version.options.clone()).await?;
        if options.variables == version.options.variables {
            return Ok(version);
        }
        version.with_variables(options.variables).map(Arc::new)
    }
}
