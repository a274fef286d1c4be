//! An application from a configuration, and its modules.

use std::fmt::Display;
use std::io;
use std::path::Path;

use pointwork::{App, ErrorKind, Grants, ModuleOptions, StateDirectory};
use pointwork_config::{Channels, Config, Missing, Module, StandIns};
use pointwork_core::read_file;
use tokio::runtime::Handle;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::worker::worker;

/// An application without modules, with the options of the configuration and a state directory.
pub(crate) fn create(config: &Config, state: Option<StateDirectory>) -> Result<App> {
    let mut options = config.app_options();
    options.compile.worker = worker();
    options.cache = config.open_cache()?;
    options.state = state;
    let app = App::with_options(options)?;
    if let Some(prefix) = &config.prefix {
        app.set_global_prefix(prefix.as_str())?;
    }
    Ok(app)
}

/// Binds the native channels of the configuration, in the runtime of the caller.
pub(crate) fn bind(app: &App, channels: &Channels) -> Result<()> {
    let bound = channels.bind(app, &Handle::current());
    bound.map_err(|error| Error::from(error).with_exit(Exit::Config))
}

/// A module that is ready to be loaded.
#[derive(Debug)]
pub(crate) struct Loadable<'a> {
    pub(crate) module: &'a Module,
    pub(crate) grants: Grants,
    pub(crate) options: ModuleOptions,
    /// Granted directories, which have to exist for as long as the module has instances.
    _stand_ins: StandIns,
}

/// Resolves the grants of each module. It blocks.
pub(crate) fn prepare(config: &Config, missing: Missing) -> Result<Vec<Loadable<'_>>> {
    let modules = config.modules.iter();
    modules.map(|module| Loadable::new(module, config, missing)).collect()
}

/// Loads the modules in their order (spec D9). With a state directory, it loads the last current version of each. The
/// result is each with the SHA-256 of its file, in hex. It blocks while it reads the files.
pub(crate) async fn load<'a>(
    app: &App,
    modules: &'a [Loadable<'a>],
    config: &Config,
) -> Result<Vec<(&'a Loadable<'a>, String)>> {
    let mut digests = Vec::with_capacity(modules.len());
    for loadable in modules {
        digests.push((loadable, load_file(app, loadable, config).await?));
    }
    Ok(digests)
}

/// Loads one module, as [`load`] does.
pub(crate) async fn load_file(app: &App, loadable: &Loadable<'_>, config: &Config) -> Result<String> {
    let Loadable { module, options, .. } = loadable;
    let path = module.path.display();
    let message = format!("module `{}` cannot be read from `{path}`", module.name);
    let component = read_component(&module.path, largest(config), message).map_err(|error| match error.exit() {
        Exit::Failed => error.with_exit(exit_of_unreadable(config)),
        _ => error,
    })?;
    let digest = pointwork::digest(&component);
    let loading = app.module(&module.name).bytes(component).options(options.clone());
    loading.restore().await.map_err(|error| match error.kind() {
        ErrorKind::State => error.into(),
        _ => Error::refused(format!("module `{}` from `{path}` is refused", module.name), &error),
    })?;
    Ok(digest)
}

/// The exit code for a component that cannot be read: a file of the configuration, or one that the command line names.
pub(crate) fn exit_of_unreadable(config: &Config) -> Exit {
    let on_command_line = config.file().as_os_str().is_empty();
    if on_command_line { Exit::Failed } else { Exit::Config }
}

/// The size of the largest component.
pub(crate) fn largest(config: &Config) -> u64 {
    config.app_options().compile.size as u64
}

/// Reads a component; `message` is the sentence of an error. It blocks.
pub(crate) fn read_component(file: &Path, largest: u64, message: impl Display) -> Result<Vec<u8>> {
    read_file(file, largest).map_err(|error| {
        let failed = Error::failed(message.to_string());
        let failed = match error.kind() {
            io::ErrorKind::FileTooLarge => failed
                .with_exit(Exit::Refused)
                .with_hint("build it optimised and without debug information, or set `size` in [compile]"),
            _ => failed,
        };
        failed.with_source(error)
    })
}

/// Loads the uploaded modules whose names the configuration lacks. A refused one is logged as an error; the others serve.
pub(crate) async fn load_uploaded(app: &App, config: &Config, state: &StateDirectory) {
    for name in state.names() {
        // A module that was removed from the configuration is not loaded.
        let uploaded = state.versions(&name).is_some_and(|versions| versions.base.is_none());
        if !uploaded || config.modules.iter().any(|module| module.name == name) {
            continue;
        }
        let restored = app.module(&name).options(config.any_module_options()).restore().await;
        if let Err(error) = restored {
            let error = Error::from(error);
            tracing::error!(
                module = name,
                "the uploaded module does not serve: {}",
                pointwork_core::error_chain(&error)
            );
        }
    }
}

impl<'a> Loadable<'a> {
    /// Resolves the grants of one module. It blocks.
    pub(crate) fn new(module: &'a Module, config: &Config, missing: Missing) -> Result<Self> {
        let (grants, stand_ins) = config.grants(module, missing)?;
        Ok(Self {
            module,
            options: config.module_options(module).grants(grants.clone()),
            grants,
            _stand_ins: stand_ins,
        })
    }
}
