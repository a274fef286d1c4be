//! News from the system about the folders of files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

/// Folders that are watched for the sake of files in them.
pub(super) struct Folders {
    files: Vec<PathBuf>,
    /// `None` on a system that cannot watch.
    watcher: Option<RecommendedWatcher>,
    /// What is watched, and which folder that was: another one of that path is watched anew.
    watched: HashMap<PathBuf, u64>,
}

impl Folders {
    /// Wakes `changed` when one of `files` changes, or a folder above it comes or goes. The paths are absolute.
    pub(super) fn new(files: Vec<PathBuf>, changed: Arc<Notify>) -> Self {
        let concerned = files.clone();
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let concerns = match event {
                Ok(event) => !matches!(event.kind, EventKind::Access(_)) && touches(&event.paths, &concerned),
                // Something was missed, so everything may have changed.
                Err(_) => true,
            };
            if concerns {
                changed.notify_one();
            }
        });
        Self {
            files,
            watcher: watcher
                .inspect_err(|error| {
                    tracing::warn!("changes are noticed late, since the system tells nothing: {error}")
                })
                .ok(),
            watched: HashMap::new(),
        }
    }

    /// Watches the folder of each file, or the nearest that is there above it.
    pub(super) fn watch(&mut self) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let folders = self.files.iter().filter_map(|file| nearest(file));
        let wanted: HashMap<_, _> = folders.map(|folder| (folder.to_owned(), identity(folder))).collect();
        for (folder, identity) in &self.watched {
            if wanted.get(folder) != Some(identity) {
                // The system forgets a folder that is gone by itself.
                let _ = watcher.unwatch(folder);
            }
        }
        self.watched
            .retain(|folder, identity| wanted.get(folder) == Some(identity));
        for (folder, identity) in wanted {
            if self.watched.contains_key(&folder) {
                continue;
            }
            match watcher.watch(&folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.watched.insert(folder, identity);
                }
                Err(error) => tracing::debug!("the folder `{}` cannot be watched: {error}", folder.display()),
            }
        }
    }
}

/// Whether one of the paths is one of the files, or a folder above one.
fn touches(paths: &[PathBuf], files: &[PathBuf]) -> bool {
    paths.iter().any(|path| files.iter().any(|file| file.starts_with(path)))
}

fn nearest(file: &Path) -> Option<&Path> {
    file.ancestors().skip(1).find(|folder| folder.is_dir())
}

#[cfg(unix)]
fn identity(folder: &Path) -> u64 {
    std::fs::metadata(folder).map_or(0, |metadata| std::os::unix::fs::MetadataExt::ino(&metadata))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_of_the_folder_wake_nobody() {
        let files = [PathBuf::from("/t/pointwork/shop.wasm")];
        for (path, concerns) in [
            ("/t/pointwork/shop.wasm", true),
            ("/t/pointwork", true),
            ("/t", true),
            ("/t/pointwork/other.wasm", false),
            ("/t/pointwork/shop.wasm.tmp", false),
        ] {
            assert_eq!(touches(&[path.into()], &files), concerns, "{path}");
        }
    }

    #[tokio::test]
    async fn file_in_a_folder_that_comes_later_is_noticed() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("it is there");
        let file = root.join("target/pointwork/shop.wasm");
        let changed = Arc::new(Notify::new());
        let mut folders = Folders::new(vec![file.clone()], changed.clone());
        folders.watch();
        std::fs::create_dir_all(file.parent().expect("it has one")).expect("created");
        changed.notified().await;
        folders.watch();
        std::fs::write(&file, "one").expect("written");
        changed.notified().await;
    }
}
