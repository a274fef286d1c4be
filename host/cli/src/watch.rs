//! Changes of files, as the system reports them for the directories that they are in.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use file_id::{FileId, get_file_id};
use notify::event::RemoveKind;
use notify::{Config, Event, EventKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};
use parking_lot::Mutex;

/// The time between two looks at the directories on a system that reports no changes.
const POLL: Duration = Duration::from_millis(500);

/// Directories that are watched without those below them.
pub(crate) struct Directories {
    watcher: Box<dyn Watcher + Send>,
    /// The directories that are watched. Another directory at the same path has to be watched again.
    known: HashMap<PathBuf, FileId>,
    /// The directories whose failure is logged already: the next call tries again.
    failed: HashSet<PathBuf>,
    /// The directories that were deleted since: a directory that is created after that may have the same id.
    removed: Arc<Mutex<HashSet<PathBuf>>>,
}

impl Directories {
    /// Calls `changed` for each event of files in the directories that are watched later, and with `None` if events are lost:
    /// each file may have changed. A read of a file is no event. Paths in events are absolute if those of the directories are.
    pub(crate) fn new(changed: impl Fn(Option<Event>) + Clone + Send + 'static) -> notify::Result<Self> {
        let removed = Arc::new(Mutex::new(HashSet::new()));
        let removals = removed.clone();
        let handler = move |event: notify::Result<Event>| match event {
            Ok(event) if !event.need_rescan() => {
                if matches!(event.kind, EventKind::Remove(kind) if kind != RemoveKind::File) {
                    removals.lock().extend(event.paths.iter().cloned());
                }
                if !matches!(event.kind, EventKind::Access(_)) {
                    changed(Some(event));
                }
            }
            _ => changed(None),
        };
        let watcher: Box<dyn Watcher + Send> = match RecommendedWatcher::new(handler.clone(), Config::default()) {
            Ok(watcher) => Box::new(watcher),
            Err(error) => {
                tracing::warn!("the system does not report changes, files are polled: {error}");
                let config = Config::default().with_poll_interval(POLL);
                Box::new(PollWatcher::new(handler, config)?)
            }
        };
        Ok(Self {
            watcher,
            known: HashMap::new(),
            failed: HashSet::new(),
            removed,
        })
    }

    /// Watches these directories and no others. A directory that does not exist is left out; the next call may find it.
    pub(crate) fn watch(&mut self, directories: impl IntoIterator<Item = PathBuf>) {
        let directories = directories.into_iter().filter(|directory| directory.is_dir());
        let wanted: HashMap<_, _> = directories
            .filter_map(|directory| get_file_id(&directory).ok().map(|id| (directory, id)))
            .collect();
        let removed = mem::take(&mut *self.removed.lock());
        self.known.retain(|directory, id| {
            let stays = wanted.get(directory) == Some(id) && !removed.contains(directory);
            if !stays {
                // The system has ended the watch of a directory that was deleted.
                let _ = self.watcher.unwatch(directory);
            }
            stays
        });
        self.failed.retain(|directory| wanted.contains_key(directory));
        for (directory, id) in wanted {
            if self.known.contains_key(&directory) {
                continue;
            }
            match self.watcher.watch(&directory, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.failed.remove(&directory);
                    self.known.insert(directory, id);
                }
                Err(error) if self.failed.insert(directory.clone()) => {
                    let directory = directory.display();
                    tracing::warn!(
                        "`{directory}` cannot be watched, changes there are seen late or not at all: {error}"
                    );
                }
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn directory_that_was_created_again_is_watched_again() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("it exists");
        let directory = root.join("src");
        let (send, mut events) = mpsc::unbounded_channel();
        let mut directories = Directories::new(move |event| drop(send.send(event))).expect("the system can watch");
        let mut until_event_of = async |path: &Path| {
            while !events
                .recv()
                .await
                .flatten()
                .is_some_and(|event| event.paths.contains(&path.to_owned()))
            {}
        };
        for content in ["one", "two", "three"] {
            fs::create_dir(&directory).expect("created");
            directories.watch([root.clone(), directory.clone()]);
            let file = directory.join(content);
            fs::write(&file, content).expect("written");
            until_event_of(&file).await;
            fs::remove_dir_all(&directory).expect("removed");
            // Events have an order: that of the removal is before this one.
            fs::write(root.join(content), content).expect("written");
            until_event_of(&root.join(content)).await;
        }
    }
}
