//! Changes of files, as the system reports them for the directories that they are in.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use file_id::{FileId, get_file_id};
use notify::{Config, Event, EventKind, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};

/// The time between two looks at the directories on a system that reports no changes.
const POLL: Duration = Duration::from_millis(500);

/// Directories that are watched without those below them.
pub(crate) struct Directories {
    watcher: Box<dyn Watcher + Send>,
    /// The directories that are watched, and those that cannot be.
    known: HashMap<PathBuf, Identity>,
}

/// A directory that was deleted and created again has to be watched again. Its file id may be that of the directory before,
/// its creation time is not.
type Identity = (Option<FileId>, Option<SystemTime>);

impl Directories {
    /// Calls `changed` for each event of files in the directories that are watched later, and with `None` if events are lost:
    /// each file may have changed. A read of a file is no event. Paths in events are absolute if those of the directories are.
    pub(crate) fn new(changed: impl Fn(Option<Event>) + Clone + Send + 'static) -> notify::Result<Self> {
        let handler = move |event: notify::Result<Event>| match event {
            Ok(event) if !event.need_rescan() => {
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
        })
    }

    /// Watches these directories and no others. A directory that does not exist is left out; the next call may find it.
    pub(crate) fn watch(&mut self, directories: impl IntoIterator<Item = PathBuf>) {
        let existing = directories.into_iter().filter_map(|directory| {
            let identity = identity(&directory)?;
            Some((directory, identity))
        });
        let wanted: HashMap<_, _> = existing.collect();
        self.known.retain(|directory, identity| {
            let stays = wanted.get(directory) == Some(identity);
            if !stays {
                // The system has ended the watch of a directory that was deleted.
                let _ = self.watcher.unwatch(directory);
            }
            stays
        });
        for (directory, identity) in wanted {
            if self.known.contains_key(&directory) {
                continue;
            }
            if let Err(error) = self.watcher.watch(&directory, RecursiveMode::NonRecursive) {
                let directory = directory.display();
                tracing::warn!("`{directory}` cannot be watched, changes there are seen late or not at all: {error}");
            }
            self.known.insert(directory, identity);
        }
    }
}

/// The identity of a directory; `None` if there is none.
fn identity(directory: &Path) -> Option<Identity> {
    let metadata = fs::metadata(directory).ok().filter(fs::Metadata::is_dir)?;
    Some((get_file_id(directory).ok(), metadata.created().ok()))
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn directory_that_was_created_again_is_watched_again() {
        let root = tempfile::tempdir().expect("a folder");
        let root = root.path().canonicalize().expect("it exists");
        let directory = root.join("src");
        let (send, mut events) = mpsc::unbounded_channel();
        let mut directories = Directories::new(move |event| drop(send.send(event))).expect("the system can watch");
        for _ in 0..2 {
            fs::create_dir(&directory).expect("created");
            directories.watch([directory.clone()]);
            let file = directory.join("a.rs");
            fs::write(&file, "changed").expect("written");
            while !events
                .recv()
                .await
                .flatten()
                .is_some_and(|event| event.paths.contains(&file))
            {}
            fs::remove_dir_all(&directory).expect("removed");
            // Events of the removal are behind.
            directories.watch([root.clone()]);
            fs::write(root.join("end"), "").expect("written");
            while !events
                .recv()
                .await
                .flatten()
                .is_some_and(|event| event.paths.contains(&root.join("end")))
            {}
            while events.try_recv().is_ok() {}
        }
    }
}
