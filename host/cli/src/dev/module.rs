//! A module that is built from its sources.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pointwork::{App, Change, ChangeKind, ModuleOptions};

use crate::app::Loadable;
use crate::build::{self, BuildArgs, CargoPackage};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serve::blocking;
use crate::ui::Terminal;

pub(super) struct DevModule {
    pub(super) name: String,
    options: ModuleOptions,
    args: BuildArgs,
    package: Arc<CargoPackage>,
    /// The SHA-256 of the component that is loaded, in hex.
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
    /// Finds the package of a module, and ensures that its compiler has the target.
    pub(super) async fn new(loadable: &Loadable<'_>, package: &Path, release: bool) -> Result<Self> {
        build::find_manifest(package).map_err(|error| error.with_exit(Exit::Config))?;
        let args = BuildArgs::of_development(package, loadable.module.target.as_deref(), release);
        Ok(Self {
            name: loadable.module.name.clone(),
            options: loadable.options.clone(),
            package: find(&args).await?,
            args,
            digest: None,
        })
    }

    pub(super) fn package(&self) -> &Path {
        self.args.path()
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.digest.is_some()
    }

    /// The directories with its sources.
    pub(super) fn roots(&self) -> &[PathBuf] {
        &self.package.source_roots
    }

    /// Finds the package again, after a change of its manifest.
    pub(super) async fn find(&mut self) -> Result<()> {
        self.package = find(&self.args).await?;
        Ok(())
    }

    /// Builds the component. The second result are the files that it was built from. Cargo prints the progress of the first
    /// build, and then warnings and errors only.
    pub(super) async fn build(&self) -> Result<(Vec<u8>, Vec<PathBuf>)> {
        let package = self.package.clone();
        let args = match self.is_loaded() {
            true => self.args.clone().quiet(),
            false => self.args.clone(),
        };
        blocking(move || build::build_in_memory(&package, &args)).await
    }

    /// Loads the component, or swaps it in.
    pub(super) async fn publish(&mut self, app: &App, component: Vec<u8>) -> Result<Outcome> {
        let digest = pointwork::digest(&component);
        if self.digest.as_ref() == Some(&digest) {
            return Ok(Outcome::Same);
        }
        let module = app
            .module(&self.name)
            .bytes(component.clone())
            .options(self.options.clone());
        let refused = |error| Error::refused(format!("module `{}` is refused", self.name), &error);
        let change = module.load_or_swap().await.map_err(refused)?;
        self.digest = Some(digest);
        Ok(Outcome::Loaded(routes(&change), component))
    }
}

async fn find(args: &BuildArgs) -> Result<Arc<CargoPackage>> {
    let args = args.clone();
    blocking(move || build::find(&args, &mut Terminal::standard()).map(Arc::new)).await
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
