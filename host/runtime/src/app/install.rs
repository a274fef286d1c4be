//! Builds a version of a module from its bytes, and publishes it.

use std::path::Path;
use std::sync::Arc;

use super::App;
use crate::app::changes::Change;
use crate::app::module::{Module, ModuleInfo};
use crate::app::publish::Proposal;
use crate::{Error, ErrorKind, ModuleOptions, OrError, digest};

impl App {
    pub(super) async fn read_component(&self, name: &str, path: &Path) -> Result<Vec<u8>, Error> {
        let message = format!("module `{name}` cannot be read from `{}`", path.display());
        let path = path.to_owned();
        let read = move || std::fs::read(path).or_error(ErrorKind::Read, message);
        self.0.threads.blocking(ErrorKind::Read, read).await
    }

    /// Builds a module and publishes it. A refusal is reported as `server:refused`.
    pub(super) async fn install(
        &self,
        proposal: Proposal,
        bytes: Vec<u8>,
        options: ModuleOptions,
    ) -> Result<(ModuleInfo, Change), Error> {
        let bytes: Arc<[u8]> = bytes.into();
        let (name, kind) = (proposal.name.clone(), proposal.kind);
        let result = self.try_install(proposal, bytes.clone(), options).await;
        if let Err(error) = &result {
            self.report_refusal(kind, &name, Some(digest(&bytes)), error);
        }
        let (info, change) = result?;
        for warning in &info.warnings {
            tracing::warn!(module = name, "{warning}");
        }
        Ok((info, change))
    }

    async fn try_install(
        &self,
        mut proposal: Proposal,
        bytes: Arc<[u8]>,
        options: ModuleOptions,
    ) -> Result<(ModuleInfo, Change), Error> {
        let name = proposal.name.clone();
        // Before the work; it is checked again when the version is published.
        self.state().binder.check_name(proposal.kind, &name)?;
        let refused = |error: Error| error.in_module(&name);
        let module = Arc::new(self.build(&name, bytes.clone(), options).await.map_err(refused)?);
        let info = module.info.clone();
        proposal.module = Some(module);
        if let Some(directory) = self.0.directory.clone() {
            let digest = info.digest.clone();
            let pin = move || directory.pin(&digest, &bytes);
            let pinned = self.0.threads.blocking(ErrorKind::Engine, pin).await;
            proposal.pinned = Some(pinned.map_err(refused)?);
        }
        let change = self.publish(proposal).await.map_err(refused)?;
        Ok((info, change))
    }

    /// Checks, compiles and instantiates a component, reads its declarations, and checks its health.
    pub(super) async fn build(&self, name: &str, bytes: Arc<[u8]>, options: ModuleOptions) -> Result<Module, Error> {
        let inner = &self.0;
        let module = Module::load(name, bytes, options, &inner.engines, &inner.threads, self.bus()).await?;
        self.check_health(&module).await?;
        Ok(module)
    }
}
