//! Builds a version of a module from its bytes, and publishes it.

use std::sync::Arc;

use super::App;
use crate::app::changes::Change;
use crate::app::module::{Component, Module, ModuleInfo};
use crate::app::publish::{Proposal, Purpose};
use crate::{Error, ErrorKind, ModuleOptions};

impl App {
    /// Builds a module and publishes it. A refusal is reported as `server:refused`.
    pub(super) async fn install(
        &self,
        name: &str,
        purpose: Purpose,
        bytes: Vec<u8>,
        options: ModuleOptions,
    ) -> Result<(ModuleInfo, Change), Error> {
        let kind = purpose.kind();
        let component = Component::new(bytes);
        let digest = component.digest.clone();
        let result = self.try_install(name, purpose, component, options).await;
        if let Err(error) = &result {
            self.report_refusal(kind, name, Some(digest), error);
        }
        let (info, change) = result?;
        for warning in &info.warnings {
            tracing::warn!(module = name, "{warning}");
        }
        Ok((info, change))
    }

    async fn try_install(
        &self,
        name: &str,
        purpose: Purpose,
        component: Component,
        options: ModuleOptions,
    ) -> Result<(ModuleInfo, Change), Error> {
        // Before the work; it is checked again when the version is published.
        let current = {
            let state = self.open_state()?;
            state.binder.check_name(purpose.kind(), name)?;
            state.binder.module(name).cloned()
        };
        let refused = |error: Error| error.in_module(name);
        let options = self.resolved(options).await.map_err(refused)?;
        if let Some(current) = current
            && self.is_version(&current, &component.digest, &options)
        {
            let change = self.keep(current.clone(), purpose).await.map_err(refused)?;
            return Ok((current.info.clone(), change));
        }
        let bytes = component.bytes.clone();
        // On the heap: the thread of a host in C may have a small stack.
        let building = Box::pin(self.build(name, component, options));
        let module = Arc::new(building.await.map_err(refused)?);
        let info = module.info.clone();
        let proposal = Proposal::Install { module, bytes, purpose };
        let change = self.publish(proposal).await.map_err(refused)?;
        Ok((info, change))
    }

    /// The options with the present values of their variables (spec H10).
    pub(super) async fn resolved(&self, mut options: ModuleOptions) -> Result<ModuleOptions, Error> {
        if !options.variables.is_empty() {
            let variables = std::mem::take(&mut options.variables);
            let reading = move || variables.resolve();
            options.variables = self.0.threads.blocking(ErrorKind::Read, reading).await?;
        }
        Ok(options)
    }

    /// Checks, compiles and instantiates a component, reads its declarations, and checks its health.
    pub(super) async fn build(
        &self,
        name: &str,
        component: Component,
        options: ModuleOptions,
    ) -> Result<Module, Error> {
        let inner = &self.0;
        let module = Module::load(name, component, options, &inner.engines, &inner.threads, self.bus()).await?;
        self.check_health(&module).await?;
        Ok(module)
    }

    /// Whether a version was made from the component of that digest, with the same options and values of variables (spec
    /// S4).
    pub(super) fn is_version(&self, version: &Module, digest: &str, options: &ModuleOptions) -> bool {
        let with_limits = |options: &ModuleOptions| {
            let mut options = options.clone();
            options.limits.get_or_insert_with(|| self.0.engines.limits.clone());
            options.digest = None;
            options
        };
        let expected = options.digest.as_deref().unwrap_or(digest);
        version.info.digest == digest
            && expected.eq_ignore_ascii_case(digest)
            && with_limits(&version.options) == with_limits(options)
    }
}
