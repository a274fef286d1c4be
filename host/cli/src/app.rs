//! From a configuration to an application with its modules loaded.

use pointwork::{App, ErrorKind, ModuleInfo, ModuleLimits, ModuleOptions, StateDirectory};

use crate::config::{Config, Module};
use crate::error::{Error, Result};
use crate::grants::{self, Granted, Missing};
use crate::{keep, options};

/// An application with what the configuration says, its modules aside; it knows `state`.
///
/// # Errors
///
/// Its threads do not start; the cache that the configuration names cannot be used.
pub(crate) fn create(config: &Config, state: Option<StateDirectory>) -> Result<App> {
    let mut options = options::application(config);
    keep::compiling(&mut options, config)?;
    options.state = state;
    let app = App::with_options(options)?;
    if let Some(prefix) = &config.prefix {
        app.set_global_prefix(prefix.as_str())?;
    }
    Ok(app)
}

/// A module with what it takes to load it.
#[derive(Debug)]
pub(crate) struct Loadable<'a> {
    pub(crate) module: &'a Module,
    /// As the runtime takes them.
    pub(crate) options: ModuleOptions,
    /// What the grants stand for has to be there for as long as the module may be made an instance of.
    granted: Granted,
}

/// Finds what each module is granted. It blocks.
///
/// # Errors
///
/// Something that a module is granted cannot be had.
pub(crate) fn prepare(config: &Config, missing: Missing) -> Result<Vec<Loadable<'_>>> {
    let limits = options::application(config).limits;
    let modules = config.modules.iter();
    modules
        .map(|module| Loadable::new(module, &limits, config, missing))
        .collect()
}

/// Finds what one module of the configuration is granted. It blocks.
///
/// # Errors
///
/// Something that it is granted cannot be had.
pub(crate) fn prepare_one<'a>(module: &'a Module, config: &Config, missing: Missing) -> Result<Loadable<'a>> {
    Loadable::new(module, &options::application(config).limits, config, missing)
}

/// Loads the modules in their order (spec D9), each the version that was current last if the application has a state
/// directory. The result is the SHA-256 of each file, in hex. It blocks while it reads them.
///
/// # Errors
///
/// A component cannot be read, or is refused.
pub(crate) async fn load(app: &App, modules: &[Loadable<'_>]) -> Result<Vec<String>> {
    let mut digests = Vec::with_capacity(modules.len());
    for Loadable { module, options, .. } in modules {
        let component = std::fs::read(&module.path).map_err(|error| {
            let message = format!(
                "module `{}` cannot be read from `{}`",
                module.name,
                module.path.display()
            );
            Error::failed(message).with_source(error)
        })?;
        digests.push(pointwork::digest(&component));
        app.restore_with(&module.name, Some(component), options.clone())
            .await
            .map_err(|error| match error.kind() {
                ErrorKind::State => error.into(),
                _ => Error::refused(
                    format!("module `{}` from `{}` is refused", module.name, module.path.display()),
                    error,
                ),
            })?;
    }
    Ok(digests)
}

/// Loads what was uploaded under names that the configuration lacks. One that is refused does not keep the others from
/// serving: it is logged as an error.
pub(crate) async fn load_uploaded(app: &App, config: &Config, state: &StateDirectory) {
    for name in state.names() {
        // What the configuration had once and has no more is not wanted any more.
        let uploaded = state.version(&name).is_some_and(|version| version.base.is_none());
        if !uploaded || config.modules.iter().any(|module| module.name == name) {
            continue;
        }
        if let Err(error) = app.restore_with(&name, None, options::of_any(config)).await {
            let error = Error::from(error);
            tracing::error!(
                module = name,
                "the uploaded module is not served: {}",
                error.in_one_line()
            );
        }
    }
}

impl<'a> Loadable<'a> {
    /// `module` with what the configuration grants it; `limits` are those of all modules.
    ///
    /// # Errors
    ///
    /// Something that it is granted cannot be had.
    fn new(module: &'a Module, limits: &ModuleLimits, config: &Config, missing: Missing) -> Result<Self> {
        let granted = grants::resolve(module, &config.file, missing)?;
        let options = options::of_module(module, limits, config).grants(granted.grants.clone());
        Ok(Self {
            module,
            options,
            granted,
        })
    }

    /// What it is granted.
    pub(crate) fn grants(&self) -> &pointwork::Grants {
        &self.granted.grants
    }

    /// Loads it from bytes that were read already.
    ///
    /// # Errors
    ///
    /// The component is refused.
    pub(crate) async fn load(&self, app: &App, component: Vec<u8>) -> Result<ModuleInfo, pointwork::Error> {
        app.load_with(&self.module.name, component, self.options.clone()).await
    }
}
