//! The sources of modules, watched.

use std::collections::{BTreeSet, HashSet};
use std::future::pending;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};
use std::{fs, mem};

use notify::event::ModifyKind;
use notify::{Event, EventKind};
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::toolchains::{Language, is_ignored};
use crate::watch::Directories;

/// The time between the first change and the build: an editor saves a file in several steps, and several files at once.
/// A change during a build leads to another build, so nothing has to be quiet for longer.
const DEBOUNCE: Duration = Duration::from_millis(15);

/// The time between two looks for a directory that is missing.
const POLL: Duration = Duration::from_millis(500);

/// The times of files lag behind the clock by a tick of the system.
const CLOCK_LAG: Duration = Duration::from_millis(10);

pub(super) struct Sources {
    directories: Directories,
    /// The directories whose whole trees are watched.
    roots: Vec<PathBuf>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    wake: Notify,
}

#[derive(Default)]
struct State {
    /// The language of each module, and the files that it was built from.
    modules: Vec<(&'static Language, HashSet<PathBuf>)>,
    /// The file of the configuration, and those that it names.
    configuration: HashSet<PathBuf>,
    changed: Option<Changed>,
}

/// The changes since the last build.
#[derive(Debug)]
pub(super) struct Changed {
    /// The files that changed, the first one first.
    pub(super) files: Vec<PathBuf>,
    pub(super) since: Instant,
    /// The modules that need a build, by their places.
    pub(super) modules: BTreeSet<usize>,
    /// Whether a manifest or the like changed.
    pub(super) settings: bool,
    pub(super) configuration: bool,
}

impl Sources {
    /// Watches the trees of these directories for modules of these languages. The paths are absolute.
    pub(super) fn new(
        languages: Vec<&'static Language>,
        roots: Vec<PathBuf>,
        configuration: HashSet<PathBuf>,
    ) -> notify::Result<Self> {
        let shared = Arc::new(Shared::default());
        *shared.state.lock() = State {
            modules: languages
                .into_iter()
                .map(|language| (language, HashSet::new()))
                .collect(),
            configuration,
            changed: None,
        };
        let changes = shared.clone();
        let mut sources = Self {
            directories: Directories::new(move |event| changes.handle(event))?,
            roots,
            shared,
        };
        sources.watch();
        Ok(sources)
    }

    /// Keeps the files that a module was built from, wherever they are, and the roots of its workspace: all are watched. A file
    /// that is new among them and changed since the build began was not known as a source when it did.
    pub(super) fn built(&mut self, module: usize, files: Vec<PathBuf>, roots: &[PathBuf], begun: SystemTime) {
        let files: HashSet<_> = files.into_iter().collect();
        let begun = begun.checked_sub(CLOCK_LAG).unwrap_or(begun);
        let is_later = |file: &&PathBuf| {
            fs::metadata(file)
                .and_then(|file| file.modified())
                .is_ok_and(|time| time > begun)
        };
        {
            let mut state = self.shared.state.lock();
            let changed: Vec<_> = files
                .difference(&state.modules[module].1)
                .filter(is_later)
                .cloned()
                .collect();
            state.modules[module].1 = files;
            changed.iter().for_each(|file| state.change(file, false));
            if state.changed.is_some() {
                self.shared.wake.notify_one();
            }
        }
        for root in roots {
            if !self.roots.contains(root) {
                self.roots.push(root.clone());
            }
        }
        self.watch();
    }

    /// Waits for a change.
    ///
    /// # Cancel safety
    /// No change is lost: the next call has it.
    pub(super) async fn changed(&mut self) -> Changed {
        loop {
            let is_changed = self.shared.state.lock().changed.is_some();
            if is_changed {
                tokio::time::sleep(DEBOUNCE).await;
                // New directories.
                self.watch();
                if let Some(changed) = mem::take(&mut self.shared.state.lock().changed) {
                    return changed;
                }
            }
            tokio::select! {
                () = self.shared.wake.notified() => {}
                root = returned(&self.roots) => self.shared.state.lock().change(root, true),
            }
        }
    }

    /// Watches every directory of the trees and of the files.
    fn watch(&mut self) {
        let mut wanted = HashSet::new();
        for root in &self.roots {
            add_tree(root, &mut wanted);
        }
        {
            let state = self.shared.state.lock();
            let files = state.modules.iter().flat_map(|(_, files)| files);
            let files = files.chain(&state.configuration);
            wanted.extend(files.filter_map(|file| file.parent()).map(Path::to_owned));
        }
        self.directories.watch(wanted);
    }
}

/// Waits until a directory is there again that was moved or deleted, which ended its watch; for ever if none is missing.
async fn returned(roots: &[PathBuf]) -> &Path {
    let missing: Vec<_> = roots.iter().filter(|root| !root.is_dir()).collect();
    if missing.is_empty() {
        return pending().await;
    }
    loop {
        tokio::time::sleep(POLL).await;
        if let Some(root) = missing.iter().find(|root| root.is_dir()) {
            return root;
        }
    }
}

/// Adds a directory and those below it, except for the hidden ones and those with results of a build.
fn add_tree(directory: &Path, found: &mut HashSet<PathBuf>) {
    let is_cache = directory.join("CACHEDIR.TAG").exists();
    if is_cache || !found.insert(directory.to_owned()) {
        return;
    }
    // A directory that cannot be read is reported by the build, if it matters.
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        if !is_ignored(&entry.path()) {
            add_tree(&entry.path(), found);
        }
    }
}

impl Shared {
    fn handle(&self, event: Option<Event>) {
        let mut state = self.state.lock();
        match event {
            None => state.change(Path::new(""), true),
            Some(event) => {
                // A directory that was made or moved brings files without events of their own.
                let arrives = matches!(
                    event.kind,
                    EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_))
                );
                for path in &event.paths {
                    state.change(path, arrives && path.is_dir() && !is_ignored(path));
                }
            }
        }
        let is_changed = state.changed.is_some();
        drop(state);
        if is_changed {
            self.wake.notify_one();
        }
    }
}

impl State {
    /// Notes a change of a path, if it is a source; `is_all` is a change of which more is not known.
    fn change(&mut self, path: &Path, is_all: bool) {
        let configuration = self.configuration.contains(path);
        let settings = self.modules.iter().any(|(language, _)| language.is_setting(path));
        let all = self.modules.iter().enumerate();
        let known = all.clone().filter(|(_, (_, files))| files.contains(path));
        let mut modules: BTreeSet<usize> = known.map(|(module, _)| module).collect();
        if modules.is_empty() {
            let concerned =
                all.filter(|(_, (language, _))| is_all || language.is_setting(path) || language.is_source(path));
            modules.extend(concerned.map(|(module, _)| module));
        }
        if modules.is_empty() && !configuration {
            return;
        }
        let changed = self.changed.get_or_insert_with(|| Changed {
            files: Vec::new(),
            since: Instant::now(),
            modules: BTreeSet::new(),
            settings: false,
            configuration: false,
        });
        if !changed.files.iter().any(|file| file == path) {
            changed.files.push(path.to_owned());
        }
        changed.modules.extend(modules);
        changed.settings |= settings;
        changed.configuration |= configuration;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchains::LANGUAGES;

    fn project() -> (tempfile::TempDir, PathBuf, Sources) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it exists");
        for directory in ["src", "target/debug", ".git"] {
            std::fs::create_dir_all(root.join(directory)).expect("created");
        }
        let sources = Sources::new(
            vec![&LANGUAGES[0]; 2],
            vec![root.clone()],
            [root.join("pointwork.toml")].into(),
        );
        (folder, root, sources.expect("it watches"))
    }

    fn write(path: PathBuf) {
        std::fs::write(path, "changed").expect("written");
    }

    #[tokio::test]
    async fn a_source_concerns_the_modules_that_were_built_from_it_and_a_new_one_all() {
        let (_folder, root, mut sources) = project();
        sources.built(
            1,
            vec![root.join("src/b.rs"), root.join("text.html")],
            &[],
            SystemTime::now(),
        );
        write(root.join("src/b.rs"));
        let changed = sources.changed().await;
        assert_eq!(
            (changed.files, changed.modules),
            (vec![root.join("src/b.rs")], [1].into())
        );
        write(root.join("text.html"));
        assert_eq!(sources.changed().await.modules, [1].into());
        write(root.join("src/new.rs"));
        assert_eq!(sources.changed().await.modules, [0, 1].into());
        write(root.join("Cargo.toml"));
        let changed = sources.changed().await;
        assert!(changed.settings && !changed.configuration, "{changed:?}");
    }

    #[tokio::test]
    async fn a_file_that_changed_while_it_was_no_source_yet_is_a_change_once_it_is_one() {
        let (_folder, root, mut sources) = project();
        let (old, new) = (root.join("old.html"), root.join("new.html"));
        write(old.clone());
        let begun = SystemTime::now() + Duration::from_secs(1);
        write(new.clone());
        let later = begun + Duration::from_secs(1);
        let file = fs::File::options().append(true).open(&new).expect("it is there");
        file.set_modified(later).expect("its time is set");
        sources.built(0, vec![old.clone(), new.clone()], &[], begun);
        let changed = sources.changed().await;
        // The system may tell of the older file now.
        assert!(
            changed.files.contains(&new) && changed.modules == [0].into(),
            "{changed:?}"
        );
        // It is known now, so that its events tell of further changes.
        sources.shared.state.lock().changed = None;
        sources.built(0, vec![old, new.clone()], &[], begun);
        let again = sources.shared.state.lock().changed.take();
        assert!(again.is_none_or(|again| !again.files.contains(&new)));
    }

    #[tokio::test]
    async fn other_files_wake_nobody() {
        let (_folder, root, mut sources) = project();
        for path in ["data.sqlite-wal", "target/debug/a.rs", ".git/a.rs", "src/a.rs.swp"] {
            write(root.join(path));
        }
        write(root.join("pointwork.toml"));
        let changed = sources.changed().await;
        assert_eq!(
            (changed.files, changed.modules),
            (vec![root.join("pointwork.toml")], [].into())
        );
        assert!(changed.configuration);
    }

    #[tokio::test]
    async fn files_in_a_new_directory_are_seen() {
        let (_folder, root, mut sources) = project();
        std::fs::create_dir(root.join("src/deep")).expect("created");
        assert_eq!(sources.changed().await.modules, [0, 1].into());
        write(root.join("src/deep/a.rs"));
        let changed = sources.changed().await;
        assert_eq!(changed.files, [root.join("src/deep/a.rs")]);
    }

    #[test]
    fn each_file_that_changed_is_named_once() {
        let mut state = State::default();
        for file in ["/src/b.rs", "/src/a.rs", "/src/b.rs"] {
            state.change(Path::new(file), true);
        }
        // No module has sources.
        assert!(state.changed.is_none());
        state.modules = vec![(&LANGUAGES[0], HashSet::new())];
        for file in ["/src/b.rs", "/src/a.rs", "/src/b.rs"] {
            state.change(Path::new(file), false);
        }
        let files = state.changed.expect("code has changed").files;
        assert_eq!(files, ["/src/b.rs", "/src/a.rs"].map(PathBuf::from));
    }
}
