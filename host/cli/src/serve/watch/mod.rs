//! `--watch`: a component is swapped when its file changes (spec S3).
//!
//! Editors and cargo write a file in several steps, or write another one and rename it. So it is the folder that is
//! watched, a change is waited out until nothing happened for [`QUIET`], and a file counts as whole when its length and
//! time were the same twice, that long apart. What is then no whole component is left alone until it changes again.
//!
//! The system's news of changes are a means to be quick. Folders on a network tell nothing, so all files are looked at every
//! [`POLL`] as well.

mod file;
mod folders;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pointwork::{App, ModuleOptions};
use tokio::sync::Notify;

use self::file::{File, Found};
use self::folders::Folders;
use crate::app::Loadable;
use crate::error::Error;

/// How long nothing may happen before a changed file is looked at.
const QUIET: Duration = Duration::from_millis(300);

/// How long a change may go unnoticed that the system tells nothing of.
const POLL: Duration = Duration::from_secs(5);

/// Modules whose files are watched.
pub(super) struct Watch {
    modules: Vec<Watched>,
    folders: Folders,
    changed: Arc<Notify>,
}

struct Watched {
    name: String,
    options: ModuleOptions,
    file: File,
}

impl Watch {
    /// Watches the files of `modules`, which had these `digests` when they were loaded.
    pub(super) fn new(modules: &[Loadable<'_>], digests: Vec<String>) -> Self {
        let modules = modules.iter().zip(digests).map(|(loadable, digest)| Watched {
            name: loadable.module.name.clone(),
            options: loadable.options.clone(),
            // The system tells of changes by paths from the root.
            file: File::new(absolute(&loadable.module.path), digest),
        });
        let modules: Vec<_> = modules.collect();
        let changed = Arc::new(Notify::new());
        let paths = modules.iter().map(|module| module.file.path().to_owned()).collect();
        Self {
            folders: Folders::new(paths, changed.clone()),
            modules,
            changed,
        }
    }

    /// Swaps what changes, for ever.
    ///
    /// # Cancel safety
    /// Cancelled, a swap that is under way is not made, or made whole.
    pub(super) async fn run(mut self, app: App) {
        loop {
            self.folders.watch();
            let settling = self.look(&app).await;
            let wait = if settling { QUIET } else { POLL };
            if tokio::time::timeout(wait, self.changed.notified()).await.is_ok() {
                while tokio::time::timeout(QUIET, self.changed.notified()).await.is_ok() {}
            }
        }
    }

    /// Whether any of the files has to be looked at again, since it may still be written.
    async fn look(&mut self, app: &App) -> bool {
        let mut settling = false;
        for module in &mut self.modules {
            // Reading and hashing take a while, and other tasks have other threads.
            match tokio::task::block_in_place(|| module.file.look()) {
                Found::Nothing => {}
                Found::Settling => settling = true,
                Found::Gone(error) => module.warn_of(&error),
                Found::Changed(component, digest) => module.take(app, component, &digest).await,
            }
        }
        settling
    }
}

impl Watched {
    fn warn_of(&self, error: &io::Error) {
        let path = self.file.path().display();
        tracing::warn!(
            module = self.name,
            "the component `{path}` cannot be read: {error}; the module serves on"
        );
    }

    /// Puts a component that is whole in the place of the module.
    async fn take(&self, app: &App, component: Vec<u8>, digest: &str) {
        let path = self.file.path().display();
        if let Err(error) = pointwork::inspect(&component) {
            let error = Error::from(error);
            tracing::warn!(
                module = self.name,
                "`{path}` changed and is no whole component: {}; the module serves on",
                error.in_one_line()
            );
            return;
        }
        let current = app.modules().into_iter().find(|info| info.name == self.name);
        if current.as_ref().is_some_and(|info| info.digest == digest) {
            tracing::info!(module = self.name, digest, "`{path}` changed to what serves already");
            return;
        }
        // The application logs either outcome, and emits it as an event.
        let result = match current {
            Some(_) => {
                let reloading = app.reload_with(&self.name, component, self.options.clone());
                reloading.await.map(drop)
            }
            // It was removed; a file that is newer than that is meant to be served.
            None => {
                let restoring = app.restore_with(&self.name, Some(component), self.options.clone());
                restoring.await.map(drop)
            }
        };
        if result.is_err() {
            tracing::debug!(module = self.name, "`{path}` is tried again when it changes");
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    // It fails for an empty path alone, and for want of a current directory.
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
