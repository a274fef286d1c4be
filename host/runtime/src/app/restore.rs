//! Restores the versions of modules that the state directory records.

use pointwork_core::routing::{MethodFilter, Pattern};

use super::App;
use crate::app::changes::ChangeKind;
use crate::app::module::ModuleInfo;
use crate::app::publish::Purpose;
use crate::app::status::RestoreFailure;
use crate::store::KeptRoute;
use crate::{Error, ErrorKind, ModuleOptions, StateDirectory, digest};

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
        let recorded = self
            .directory()
            .and_then(|directory| Some((directory.versions(name)?, directory)));
        let base = component.as_deref().map(digest);
        let (purpose, component) = match (component, recorded) {
            (None, None) => return Ok(None),
            (Some(component), None) => (Purpose::Load { base }, component),
            (Some(component), Some((recorded, _))) if recorded.base.is_some() && recorded.base != base => {
                tracing::info!(
                    module = name,
                    "the configured component has changed: it replaces the version that was current"
                );
                (Purpose::Load { base }, component)
            }
            (component, Some((recorded, directory))) => match (component, recorded.current) {
                (_, None) => {
                    tracing::info!(module = name, "the module was removed, and is not loaded");
                    return Ok(None);
                }
                (Some(component), Some(current)) if base.as_ref() == Some(&current) => {
                    (Purpose::Restore { base }, component)
                }
                (component, Some(current)) => {
                    return match self.recorded(name, directory.clone(), &current).await {
                        Ok(bytes) => {
                            let options = options.digest(&current);
                            let restored = self.install(name, Purpose::Restore { base }, bytes, options).await;
                            let restored = restored.inspect_err(|error| {
                                self.keep_unrestored(name, &current, &directory, error);
                            });
                            restored.map(|(info, _)| Some(info))
                        }
                        Err(damage) => {
                            self.report_refusal(ChangeKind::Loaded, name, Some(current.clone()), &damage);
                            self.replace_damaged(name, &current, component, options, &directory, damage)
                                .await
                        }
                    };
                }
            },
        };
        let (info, _) = self.install(name, purpose, component, options).await?;
        Ok(Some(info))
    }

    /// Serves another version in the place of a recorded one that is damaged: the previous one, or the component that the
    /// application is configured with. Routes that only the recorded one has answer 503. The record stays as it is.
    async fn replace_damaged(
        &self,
        name: &str,
        damaged: &str,
        component: Option<Vec<u8>>,
        options: ModuleOptions,
        directory: &StateDirectory,
        damage: Error,
    ) -> Result<Option<ModuleInfo>, Error> {
        self.keep_unrestored(name, damaged, directory, &damage);
        let recorded = directory.versions(name).unwrap_or_default();
        let mut candidates = Vec::new();
        if let Some(previous) = recorded.previous {
            match self.recorded(name, directory.clone(), &previous).await {
                Ok(bytes) => candidates.push(("its previous version", bytes, options.clone().digest(previous))),
                Err(error) => tracing::error!(
                    module = name,
                    "the previous version is lost too: {}",
                    pointwork_core::error_chain(&error)
                ),
            }
        }
        candidates.extend(component.map(|bytes| ("the configured component", bytes, options)));
        let reason = pointwork_core::error_chain(&damage);
        for (which, bytes, options) in candidates {
            match self.install(name, Purpose::StandIn, bytes, options).await {
                Ok((info, _)) => {
                    tracing::error!(
                        module = name,
                        digest = damaged,
                        serves = info.digest,
                        "the current version of the module is lost, and {which} serves in its place: {reason}"
                    );
                    self.note_unrestored(name, damaged, reason, Some(info.digest.clone()));
                    return Ok(Some(info));
                }
                Err(error) => {
                    let error = pointwork_core::error_chain(&error);
                    tracing::error!(
                        module = name,
                        "{which} cannot serve in the place of the current one: {error}"
                    );
                }
            }
        }
        Err(damage)
    }

    /// Keeps the routes of a module that is not restored: they answer 503, and no other module answers for it.
    fn keep_unrestored(&self, name: &str, digest: &str, directory: &StateDirectory, error: &Error) {
        let routes = directory.versions(name).unwrap_or_default().routes;
        let routes = routes.iter().filter_map(declared).collect();
        let kept = self.change(|binder| {
            binder.put_unrestored(name, routes);
            Ok(())
        });
        if let Err(error) = kept {
            let error = pointwork_core::error_chain(&error);
            tracing::error!(module = name, "the routes of the module cannot be kept for it: {error}");
        }
        self.note_unrestored(name, digest, pointwork_core::error_chain(error), None);
    }

    fn note_unrestored(&self, name: &str, digest: &str, reason: String, serves: Option<String>) {
        let restore_failures = RestoreFailure {
            module: name.to_owned(),
            digest: digest.to_owned(),
            reason,
            serves,
        };
        self.state().restore_failures.insert(name.to_owned(), restore_failures);
    }

    /// The component of that digest, from the state directory.
    pub(super) async fn recorded(
        &self,
        module: &str,
        directory: StateDirectory,
        digest: &str,
    ) -> Result<Vec<u8>, Error> {
        let (digest, most) = (digest.to_owned(), self.0.engines.compiler.largest() as u64);
        let read = move || directory.component(&digest, most);
        let component = self.0.threads.blocking(ErrorKind::Engine, read).await;
        component.map_err(|error| error.in_module(module))
    }
}

/// A route that was declared before; the record is not authenticated.
fn declared(route: &KeptRoute) -> Option<(MethodFilter, Pattern)> {
    let filter = MethodFilter::parse(route.method.as_deref()).ok()?;
    Some((filter, Pattern::parse(&route.path).ok()?))
}
