//! A module that is built from its sources.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pointwork::{App, Change, ChangeKind, ModuleOptions};

use crate::app::Loadable;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serve::blocking;
use crate::toolchains::{self, BuildOptions, Component, Language, Project};
use crate::ui::Terminal;

pub(super) struct DevModule {
    pub(super) name: String,
    options: ModuleOptions,
    /// The path of the project, for messages.
    pub(super) path: PathBuf,
    build: BuildOptions,
    project: Arc<Project>,
    /// The SHA-256 of the component that is loaded, and of its program if it has one, in hex.
    digest: Option<String>,
}

/// The result of an update.
pub(super) enum Outcome {
    /// The component is the one that is loaded.
    Same,
    /// This one is loaded. The text has the routes that are new or gone, a line for each.
    Loaded(String, Vec<u8>),
}

impl DevModule {
    /// Finds the project of a module, and ensures that its tools are there.
    pub(super) async fn new(loadable: &Loadable<'_>, path: &Path, release: bool) -> Result<Self> {
        toolchains::at(path).map_err(|error| error.with_exit(Exit::Config))?;
        let build = BuildOptions {
            target: loadable.module.target.clone(),
            development: !release,
            ..BuildOptions::default()
        };
        Ok(Self {
            name: loadable.module.name.clone(),
            options: loadable.options.clone(),
            path: path.to_owned(),
            project: find(path, &build).await?,
            build,
            digest: None,
        })
    }

    pub(super) fn language(&self) -> &'static Language {
        self.project.language
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.digest.is_some()
    }

    /// The directories with its sources.
    pub(super) fn roots(&self) -> &[PathBuf] {
        &self.project.source_roots
    }

    /// The folder of its project may be moved or deleted while it is watched. A tool cannot run there then, which looks as if
    /// there were no such tool.
    fn check_folder(&self) -> Result<()> {
        let directory = &self.project.directory;
        if directory.is_dir() {
            return Ok(());
        }
        let (name, directory) = (&self.name, directory.display());
        let message = format!("the folder of module `{name}` was moved or deleted: `{directory}`");
        Err(Error::failed(message).with_hint("bring it back, or start `pointwork dev` where it is now"))
    }

    /// Finds the project again, after a change of its manifest.
    pub(super) async fn find(&mut self) -> Result<()> {
        self.check_folder()?;
        self.project = find(&self.path, &self.build).await?;
        Ok(())
    }

    /// Builds the component. The tools print the progress of the first build, and then warnings and errors only.
    pub(super) async fn build(&self) -> Result<Component> {
        self.check_folder()?;
        let project = self.project.clone();
        let options = BuildOptions {
            quiet: self.is_loaded(),
            ..self.build.clone()
        };
        blocking(move || (project.language.build)(&project, &options)).await
    }

    /// Loads the component, or swaps it in.
    pub(super) async fn publish(&mut self, app: &App, component: Vec<u8>, program: Option<String>) -> Result<Outcome> {
        let mut digest = pointwork::digest(&component);
        let mut options = self.options.clone();
        if let Some(program) = program {
            digest += &pointwork::digest(program.as_bytes());
            options.variables = options.variables.program(program);
        }
        if self.digest.as_ref() == Some(&digest) {
            return Ok(Outcome::Same);
        }
        let module = app.module(&self.name).bytes(component.clone()).options(options);
        let refused = |error| Error::refused(format!("module `{}` is refused", self.name), &error);
        let change = module.load_or_swap().await.map_err(refused)?;
        self.digest = Some(digest);
        Ok(Outcome::Loaded(routes(&change), component))
    }
}

async fn find(path: &Path, options: &BuildOptions) -> Result<Arc<Project>> {
    let (path, options) = (path.to_owned(), options.clone());
    blocking(move || toolchains::find(&path, None, &options, &mut Terminal::standard()).map(Arc::new)).await
}

/// The routes that are new or gone.
fn routes(change: &Change) -> String {
    let mut text = String::new();
    if change.kind == ChangeKind::Swapped {
        for (label, routes) in [("added", &change.routes.added), ("removed", &change.routes.removed)] {
            for route in routes {
                // Writing to a text never fails.
                let _ = write!(text, "\n{label} {route}");
            }
        }
    }
    text
}
