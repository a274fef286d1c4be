//! Restores the versions of modules that the state directory records.

use super::App;
use crate::app::changes::ChangeKind;
use crate::app::module::ModuleInfo;
use crate::app::publish::Proposal;
use crate::{Error, ErrorKind, ModuleOptions, StateDirectory, Version, digest};

enum Start {
    /// The one that the application is configured with.
    Configured(Vec<u8>),
    /// The one with that digest, in the state directory.
    Recorded(String),
    Nothing,
}

impl App {
    /// Loads the recorded version of a module, or the component: see [`ModuleBuilder::restore`].
    ///
    /// [`ModuleBuilder::restore`]: crate::ModuleBuilder::restore
    pub(super) async fn restore(
        &self,
        name: &str,
        component: Option<Vec<u8>>,
        options: ModuleOptions,
    ) -> Result<Option<ModuleInfo>, Error> {
        drop(self.open_state()?);
        let mut proposal = Proposal::new(ChangeKind::Loaded, name);
        let directory = self.directory();
        let start = match &directory {
            Some(directory) => choose(directory, component, &mut proposal),
            None => component.map_or(Start::Nothing, Start::Configured),
        };
        let (component, options) = match (start, directory) {
            (Start::Configured(component), _) => (component, options),
            (Start::Recorded(digest), Some(directory)) => {
                let component = self.recorded(name, directory, &digest).await?;
                (component, options.digest(digest))
            }
            _ => return Ok(None),
        };
        let (info, _) = self.install(proposal, component, options).await?;
        Ok(Some(info))
    }

    /// The component of that digest, from the state directory.
    pub(super) async fn recorded(
        &self,
        module: &str,
        directory: StateDirectory,
        digest: &str,
    ) -> Result<Vec<u8>, Error> {
        let digest = digest.to_owned();
        let read = move || directory.component(&digest);
        let component = self.0.threads.blocking(ErrorKind::Engine, read).await;
        component.map_err(|error| error.in_module(module))
    }
}

/// Chooses between the configured component and the recorded one, and completes the proposal for the record.
fn choose(directory: &StateDirectory, component: Option<Vec<u8>>, proposal: &mut Proposal) -> Start {
    let module = &proposal.name;
    let base = component.as_deref().map(digest);
    match (component, directory.version(module)) {
        (None, None) => Start::Nothing,
        (Some(component), None) => {
            proposal.base = base;
            Start::Configured(component)
        }
        (Some(component), Some(recorded)) if recorded.base.is_some() && recorded.base != base => {
            tracing::info!(
                module,
                "the configured component has changed: it replaces the version that was current"
            );
            proposal.base = base;
            Start::Configured(component)
        }
        (_, Some(Version { current: None, .. })) => {
            tracing::info!(module, "the module was removed, and is not loaded");
            Start::Nothing
        }
        (
            component,
            Some(Version {
                current: Some(current),
                previous,
                ..
            }),
        ) => {
            proposal.previous = previous;
            let same = base.as_ref() == Some(&current);
            proposal.base = base;
            match component {
                Some(component) if same => Start::Configured(component),
                _ => Start::Recorded(current),
            }
        }
    }
}
