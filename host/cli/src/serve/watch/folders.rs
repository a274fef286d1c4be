//! Change events of the system for the folders of files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify_debouncer_full::file_id::{FileId, get_file_id};
use notify_debouncer_full::notify::{Config, EventKind, RecommendedWatcher, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, NoCache, new_debouncer_opt};
use tokio::sync::Notify;

pub(super) struct Folders {
    files: Vec<PathBuf>,
    /// `None` on a system that cannot watch.
    watcher: Option<Debouncer<RecommendedWatcher, NoCache>>,
    /// The identity of each watched folder: another folder of that path is watched anew.
    watched: HashMap<PathBuf, Option<FileId>>,
}

impl Folders {
    /// Wakes `changed` when one of `files`, or a folder above it, changed `quiet` ago. The paths are absolute.
    pub(super) fn new(files: Vec<PathBuf>, quiet: Duration, changed: Arc<Notify>) -> Self {
        let watched = files.clone();
        let handler = move |events: DebounceEventResult| {
            // An error means that events are lost.
            let concerned = events.map_or(true, |events| {
                events.iter().any(|event| {
                    let is_change = !matches!(event.kind, EventKind::Access(_));
                    event.need_rescan() || is_change && touches(&event.paths, &watched)
                })
            });
            if concerned {
                changed.notify_one();
            }
        };
        // A cache of file ids would connect the two names of a renamed file, which do not matter here.
        let watcher = new_debouncer_opt(quiet, None, handler, NoCache::new(), Config::default());
        Self {
            files,
            watcher: watcher
                .inspect_err(|error| tracing::warn!("the system does not report changes, files are polled: {error}"))
                .ok(),
            watched: HashMap::new(),
        }
    }

    /// Watches the folder of each file, or the nearest existing folder above it.
    pub(super) fn watch(&mut self) {
        let Some(watcher) = &mut self.watcher else {
            return;
        };
        let folders = self.files.iter().filter_map(|file| nearest(file));
        let wanted: HashMap<_, _> = folders
            .map(|folder| (folder.to_owned(), get_file_id(folder).ok()))
            .collect();
        self.watched.retain(|folder, identity| {
            let stays = wanted.get(folder) == Some(identity);
            if !stays {
                // A deleted folder is no longer watched.
                let _ = watcher.unwatch(folder);
            }
            stays
        });
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_of_the_folder_wake_nobody() {
        let files = [PathBuf::from("/t/pointwork/shop.wasm")];
        for (path, concerned) in [
            ("/t/pointwork/shop.wasm", true),
            ("/t/pointwork", true),
            ("/t", true),
            ("/t/pointwork/other.wasm", false),
            ("/t/pointwork/shop.wasm.tmp", false),
        ] {
            assert_eq!(touches(&[path.into()], &files), concerned, "{path}");
        }
    }

    #[tokio::test]
    async fn file_in_a_folder_that_is_created_later_is_noticed() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("it exists");
        let file = root.join("target/pointwork/shop.wasm");
        let changed = Arc::new(Notify::new());
        let mut folders = Folders::new(vec![file.clone()], Duration::from_millis(20), changed.clone());
        folders.watch();
        std::fs::create_dir_all(file.parent().expect("it has one")).expect("created");
        changed.notified().await;
        folders.watch();
        std::fs::write(&file, "one").expect("written");
        changed.notified().await;
    }
}
