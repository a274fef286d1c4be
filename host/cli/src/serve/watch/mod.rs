//! `--watch`: a component is swapped when its file changes (spec S3).
//!
//! Editors and cargo write a file in several steps, or write another file and rename it. So folders are watched, and a
//! file counts as whole when two looks, [`QUIET`] apart, find the same length, time and identity. A file that is then not a
//! whole component is left alone until it changes again.
//!
//! Folders on a network and links that are replaced cause no event, so all files are polled every [`POLL`] as well.

mod file;
mod folders;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pointwork::{App, ModuleOptions};
use pointwork_config::Config;
use tokio::sync::Notify;

use self::file::{Look, WatchedFile};
use crate::app::{self, Loadable};
use crate::error::Error;
use crate::watch::Directories;

/// The time between a change and the first look at the file, and between two looks.
const QUIET: Duration = Duration::from_millis(300);

/// The time between two polls.
const POLL: Duration = Duration::from_secs(5);

pub(crate) struct Watch {
    modules: Vec<WatchedModule>,
    directories: Option<Directories>,
    changed: Arc<Notify>,
}

struct WatchedModule {
    name: String,
    options: ModuleOptions,
    file: WatchedFile,
}

impl Watch {
    /// Watches the files of modules, each with the SHA-256 that its content had when it was loaded.
    pub(crate) fn new(modules: Vec<(&Loadable<'_>, String)>, config: &Config) -> Self {
        let largest = app::largest(config);
        let modules = modules.into_iter().map(|(loadable, digest)| WatchedModule {
            name: loadable.module.name.clone(),
            options: loadable.options.clone(),
            // Events have absolute paths.
            file: WatchedFile::new(absolute(&loadable.module.path), digest, largest),
        });
        let modules: Vec<_> = modules.collect();
        let changed = Arc::new(Notify::new());
        let paths = modules.iter().map(|module| module.file.path().to_owned()).collect();
        Self {
            directories: folders::waking(paths, changed.clone()),
            modules,
            changed,
        }
    }

    /// Swaps modules whose files change, for ever.
    ///
    /// # Cancel safety
    /// A swap that is cancelled is either not made, or made in full.
    pub(crate) async fn run(mut self, app: App) {
        loop {
            if let Some(directories) = &mut self.directories {
                directories.watch(
                    self.modules
                        .iter()
                        .filter_map(|module| folders::nearest(module.file.path())),
                );
            }
            if self.look(&app).await {
                tokio::time::sleep(QUIET).await;
            } else {
                // Either an event or the time for a poll leads to the next look.
                if tokio::time::timeout(POLL, self.changed.notified()).await.is_ok() {
                    tokio::time::sleep(QUIET).await;
                }
            }
        }
    }

    /// Looks at each file. The result is whether one needs another look.
    async fn look(&mut self, app: &App) -> bool {
        let mut settling = false;
        for module in &mut self.modules {
            // Reading and hashing block; other tasks move to other threads.
            match tokio::task::block_in_place(|| module.file.look()) {
                Look::Unchanged => {}
                Look::Settling => settling = true,
                Look::Lost(error) => module.warn_of(&error),
                Look::Changed(component) => module.swap(app, component).await,
            }
        }
        settling
    }
}

impl WatchedModule {
    fn warn_of(&self, error: &io::Error) {
        let path = self.file.path().display();
        tracing::warn!(
            module = self.name,
            "the component `{path}` cannot be read: {error}; the module serves on"
        );
    }

    async fn swap(&self, app: &App, component: Vec<u8>) {
        let path = self.file.path().display();
        if let Err(error) = pointwork::inspect(&component) {
            let error = Error::from(error);
            tracing::warn!(
                module = self.name,
                "`{path}` changed and is not a whole component: {}; the module serves on",
                pointwork_core::error_chain(&error)
            );
            return;
        }
        // The application logs each outcome.
        let change = app.module(&self.name).bytes(component).options(self.options.clone());
        let is_loaded = app.modules().iter().any(|info| info.name == self.name);
        let changed = if is_loaded {
            change.configured().swap().await.map(drop)
        } else {
            // The module was removed; a newer file brings it back.
            change.restore().await.map(drop)
        };
        if changed.is_err() {
            tracing::debug!(module = self.name, "`{path}` is tried again when it changes");
        }
    }
}

fn absolute(path: &Path) -> PathBuf {
    // This fails for an empty path, and without a current directory.
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
