//! The modules of `serve` and `routes`: those of a configuration, or files on the command line.

use std::path::{Path, PathBuf};

use pointwork::App;
use pointwork_config::{Config, FILE_NAME, Module, suggest};

use crate::app;
use crate::build;
use crate::config;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::toolchains::{self, BuildOptions};
use crate::ui::{Terminal, relative};

/// The arguments that name modules.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct ModuleArgs {
    /// Components to load, in this order; the name of a module is that of its file
    ///
    /// By default the modules of the configuration are loaded.
    #[arg(value_name = "FILE", conflicts_with = "config")]
    files: Vec<PathBuf>,

    /// Configuration [default: pointwork.toml, if no component is named]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Build all modules that have a `build` in the configuration, also those that exist
    #[arg(long, conflicts_with = "files")]
    build: bool,
}

impl ModuleArgs {
    /// The named configuration, or one that has only the files.
    pub(crate) fn config(&self) -> Result<Config> {
        if self.files.is_empty() {
            return config::load(self.config.as_deref());
        }
        let mut config = Config::default();
        for path in &self.files {
            let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            let name = name.ok_or_else(|| {
                let message = format!("`{}` is not a component: expected a file", path.display());
                Error::new(Exit::Usage, message)
            })?;
            if config.modules.iter().any(|module| module.name == name) {
                return Err(Error::new(Exit::Usage, format!("two components are named `{name}`"))
                    .with_hint("give them names of their own in a configuration"));
            }
            config.modules.push(Module::new(name, path));
        }
        Ok(config)
    }

    /// Builds the modules with a `build` whose component is missing, or with `--build` all that have one. It blocks until
    /// the tools end.
    pub(crate) fn prepare(&self, config: &Config, terminal: &mut Terminal) -> Result<()> {
        for module in &config.modules {
            let missing = !module.path.exists();
            match &module.build {
                Some(package) if missing || self.build => {
                    terminal.note(format_args!(
                        "building module `{}` from {}",
                        module.name,
                        package.display()
                    ));
                    toolchains::at(package).map_err(|error| error.with_exit(Exit::Config))?;
                    let options = BuildOptions {
                        target: module.target.clone(),
                        ..BuildOptions::default()
                    };
                    let project = toolchains::find(package, None, &options, terminal)?;
                    build::build(&project, &options, &module.path, terminal)?;
                }
                None if missing => {
                    let path = module.path.display();
                    let message = format!("the component of module `{}` does not exist: `{path}`", module.name);
                    let exit = app::exit_of_unreadable(config);
                    return Err(Error::new(exit, message).with_hint("`pointwork build` builds one from its sources"));
                }
                Some(package) => warn_of_newer_source(module, package, terminal),
                None => {}
            }
        }
        Ok(())
    }
}

/// Warns if a source changed after the component was built.
fn warn_of_newer_source(module: &Module, package: &Path, terminal: &mut Terminal) {
    if let Some(source) = toolchains::newer_source(package, &module.path) {
        let (component, source) = (module.path.display(), relative(&source).display());
        let name = &module.name;
        terminal.warning(format_args!(
            "the component of module `{name}`, {component}, is older than its source {source}"
        ));
        terminal.hint("`--build` builds it first, and so does `pointwork build`");
    }
}

/// Says what to do about an application without routes. Its modules may have channels only, and an endpoint may get others
/// later, so this is not an error.
pub(crate) fn explain_no_routes(config: &Config, app: &App, terminal: &mut Terminal) {
    if !app.routes().is_empty() {
        return;
    }
    let modules = app.modules();
    if !modules.is_empty() {
        let names = suggest::list(modules.iter().map(|module| &*module.name), "and");
        terminal.warning(format_args!("there are no routes: no controller in {names}"));
        for (language, _) in toolchains::used_by(&config.modules) {
            terminal.hint(language.no_controller);
        }
        return;
    }
    let file = Some(config.file()).filter(|file| !file.as_os_str().is_empty());
    let file = file.unwrap_or(Path::new(FILE_NAME));
    terminal.warning(format_args!("there are no routes: {} lists no module", file.display()));
    terminal.hint(NO_MODULE);
    if config.admin.is_some() {
        terminal.hint("`pointwork swap NAME FILE` uploads a module while the server runs");
    }
}

const NO_MODULE: &str = "\
`pointwork new NAME` creates a project with a module, `pointwork build` compiles one. A module in the configuration:

[[module]]
path = \"target/pointwork/shop.wasm\"
build = \".\"  # the folder of its sources";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_name_are_refused() {
        let arguments = ModuleArgs {
            files: ["a/shop.wasm", "b/shop.wasm"].map(PathBuf::from).into(),
            ..ModuleArgs::default()
        };
        let error = arguments.config().expect_err("one name, two components");
        assert_eq!(error.to_string(), "two components are named `shop`");
        assert_eq!(error.exit(), Exit::Usage);
    }
}
