//! From a configuration to an application with its modules loaded.

use std::path::Path;

use pointwork::{App, ErrorKind, ModuleInfo, ModuleLimits, ModuleOptions};

use crate::config::{Config, Module};
use crate::error::{Error, Result};
use crate::grants::{self, Granted, Missing};
use crate::options;

/// An application with what the configuration says, its modules aside.
///
/// # Errors
///
/// Its threads do not start.
pub(crate) fn create(config: &Config) -> Result<App> {
    let app = App::with_options(options::application(config))?;
    if let Some(prefix) = &config.prefix {
        app.set_global_prefix(prefix.as_str())?;
    }
    Ok(app)
}

/// A module with what it takes to load it.
#[derive(Debug)]
pub(crate) struct Loadable<'a> {
    module: &'a Module,
    options: ModuleOptions,
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
        .map(|module| Loadable::new(module, &limits, &config.file, missing))
        .collect()
}

/// Finds what one module of the configuration is granted. It blocks.
///
/// # Errors
///
/// Something that it is granted cannot be had.
pub(crate) fn prepare_one<'a>(module: &'a Module, config: &Config, missing: Missing) -> Result<Loadable<'a>> {
    Loadable::new(module, &options::application(config).limits, &config.file, missing)
}

/// Loads the modules in their order (spec D9).
///
/// # Errors
///
/// A component cannot be read, or is refused.
pub(crate) async fn load(app: &App, modules: &[Loadable<'_>]) -> Result<()> {
    for Loadable { module, options, .. } in modules {
        app.load_file_with(&module.name, &module.path, options.clone())
            .await
            .map_err(|error| match error.kind() {
                ErrorKind::Read => error.into(),
                _ => Error::refused(
                    format!("module `{}` from `{}` is refused", module.name, module.path.display()),
                    error,
                ),
            })?;
    }
    Ok(())
}

impl<'a> Loadable<'a> {
    /// `module` with what the configuration in `file` grants it; `limits` are those of all modules.
    ///
    /// # Errors
    ///
    /// Something that it is granted cannot be had.
    fn new(module: &'a Module, limits: &ModuleLimits, file: &Path, missing: Missing) -> Result<Self> {
        let granted = grants::resolve(module, file, missing)?;
        let mut options = ModuleOptions::new().grants(granted.grants.clone());
        options.limits = options::limits_of(module, limits);
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
