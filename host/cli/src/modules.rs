//! Which modules `serve` and `routes` work on: those of a configuration, or files named on the command line.

use std::path::PathBuf;

use crate::build::{self, Output, Request};
use crate::config::{Config, Module};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::ui::Terminal;

/// The arguments that name modules.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ModuleArgs {
    /// Components to load, in this order; each takes its file's name as its own
    ///
    /// Without any, the configuration says what to load.
    #[arg(value_name = "FILE", conflicts_with = "config")]
    files: Vec<PathBuf>,

    /// The configuration [default: pointwork.toml, if no component is named]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Build the modules that have a `build` in the configuration, also those that are built already
    #[arg(long, conflicts_with = "files")]
    build: bool,
}

impl ModuleArgs {
    /// The configuration that the arguments name, or one that has nothing but the files.
    ///
    /// # Errors
    ///
    /// The configuration is wrong or missing; two files have the same name; a file has none.
    pub(crate) fn config(&self) -> Result<Config> {
        if self.files.is_empty() {
            return Config::load(self.config.as_deref());
        }
        let mut config = Config::default();
        for path in &self.files {
            let name = path
                .file_stem()
                .map(|stem| stem.to_string_lossy().into_owned())
                .ok_or_else(|| {
                    Error::new(
                        Exit::Usage,
                        format!("`{}` names no component: expected a file", path.display()),
                    )
                })?;
            if config.modules.iter().any(|module| module.name == name) {
                return Err(Error::new(Exit::Usage, format!("two components are named `{name}`"))
                    .with_hint("give them names of their own in a configuration"));
            }
            config.modules.push(Module::new(name, path));
        }
        Ok(config)
    }

    /// Builds what has to be built: the modules with a `build` whose component is missing, or all that have one if the
    /// arguments ask for it. It blocks for as long as cargo runs.
    ///
    /// # Errors
    ///
    /// A build fails; a module that is not there cannot be built.
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
                    let mut request = Request::new(package, Output::File(module.path.clone()));
                    if let Some(target) = &module.target {
                        request.target.clone_from(target);
                    }
                    build::build(&request, terminal)?;
                }
                None if missing => {
                    let error = Error::failed(format!(
                        "the component of module `{}` is not there: `{}`",
                        module.name,
                        module.path.display()
                    ));
                    return Err(error.with_hint("`pointwork build` makes one of a cargo package"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::Captured;

    fn files(files: &[&str]) -> ModuleArgs {
        ModuleArgs {
            files: files.iter().map(PathBuf::from).collect(),
            ..ModuleArgs::default()
        }
    }

    #[test]
    fn files_keep_their_order_and_give_their_names() {
        let config = files(&["dist/shop.wasm", "admin.wasm"])
            .config()
            .expect("two components");
        let names: Vec<&str> = config.modules.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, ["shop", "admin"]);
    }

    #[test]
    fn files_of_one_name_are_refused() {
        let error = files(&["a/shop.wasm", "b/shop.wasm"])
            .config()
            .expect_err("one name, two components");
        assert_eq!(error.to_string(), "two components are named `shop`");
        assert_eq!(error.exit(), Exit::Usage);
    }

    #[test]
    fn component_that_is_not_there_and_cannot_be_built_is_named() {
        let arguments = files(&["no/such/shop.wasm"]);
        let config = arguments.config().expect("nothing was looked at yet");
        let error = arguments
            .prepare(&config, &mut Captured::default().terminal())
            .expect_err("it is not there");
        assert_eq!(
            error.to_string(),
            "the component of module `shop` is not there: `no/such/shop.wasm`"
        );
        assert!(error.hint().is_some_and(|hint| hint.contains("pointwork build")));
    }

    #[test]
    fn missing_component_is_built_from_its_package() {
        let folder = tempfile::tempdir().expect("a directory");
        let package = folder.path().join("controllers");
        std::fs::create_dir(&package).expect("created");
        let mut config = Config::default();
        config.modules.push(Module {
            build: Some(package),
            ..Module::new("shop", folder.path().join("shop.wasm"))
        });
        let captured = Captured::default();
        let error = ModuleArgs::default()
            .prepare(&config, &mut captured.terminal())
            .expect_err("an empty folder is no package");
        assert!(
            captured.err().starts_with("note: building module `shop` from "),
            "{}",
            captured.err()
        );
        assert!(
            error
                .to_string()
                .ends_with("is not a cargo package: expected a Cargo.toml there"),
            "{error}"
        );
    }
}
