//! The state directory: the current version of each module.

mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use pointwork_core::{open_file, read_file};
use serde::{Deserialize, Serialize};

use self::record::Modules;
use super::files;
use crate::call_counts::CallCountsByName;
use crate::{Error, ErrorKind, OrError};

/// Locked by the process that has the directory open.
const LOCK: &str = "lock";

const RECORD: &str = "state.json";

/// The bits of a mode that allow other users to write.
const OTHERS_WRITE: u32 = 0o022;

/// The directory of the components, each under its digest.
const COMPONENTS: &str = "components";

/// A directory with the current version of each module and the components themselves.
///
/// One process at a time has it open, for as long as a clone of this value lives. Each change is atomic: whenever the
/// process or the machine stops, the directory holds the state before the change or the one after it, with its
/// components.
///
/// ```text
/// state.json           the current version of each module, with a digest against damage (it is not authenticated)
/// components/<sha256>  the components of these versions
/// lock                 locked by the process that has the directory open
/// ```
#[derive(Clone, Debug)]
pub struct StateDirectory(Arc<OpenState>);

#[derive(Debug)]
struct OpenState {
    path: PathBuf,
    content: Mutex<Content>,
    /// Holds the lock.
    _lock: File,
}

#[derive(Debug, Default)]
struct Content {
    modules: Modules,
    /// The digests of pinned components.
    pinned: Vec<Weak<str>>,
}

/// The versions of one module in a state directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct RecordedVersions {
    /// SHA-256 of the version that is current, in hex; `None` if the module was removed.
    pub current: Option<String>,
    /// SHA-256 of the version that a roll-back leads to.
    pub previous: Option<String>,
    /// SHA-256 of the component that the application was configured with. When it starts with another one, that becomes
    /// current.
    pub base: Option<String>,
    /// The routes of the current version, without a prefix: they are known when its component cannot be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) routes: Vec<KeptRoute>,
    /// The ended calls of the current version.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) calls: CallCountsByName,
    /// The ended calls of the previous version, as long as it was current.
    #[serde(rename = "previous-calls", skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) previous_calls: CallCountsByName,
    /// The time that the current version has been on trial, in milliseconds; `None` if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trial: Option<u64>,
}

/// The calls of a version, to be recorded.
#[derive(Debug)]
pub(crate) struct VersionCalls {
    pub(crate) module: String,
    /// SHA-256 of the version, in hex.
    pub(crate) digest: String,
    pub(crate) calls: CallCountsByName,
    /// `None` if the version is not on trial.
    pub(crate) time_on_trial: Option<Duration>,
}

impl VersionCalls {
    /// Whether the record of the module has them, or has another version.
    fn is_known(&self, recorded: &RecordedVersions) -> bool {
        let is_current = recorded.current.as_ref() == Some(&self.digest);
        let has_time = match (recorded.trial.map(Duration::from_millis), self.time_on_trial) {
            (None, None) => true,
            (Some(known), Some(time)) => time < known + TRIAL_STEP,
            _ => false,
        };
        !is_current || has_time && recorded.calls == self.calls
    }
}

/// The time on trial that passes before a record without new calls is written again.
const TRIAL_STEP: Duration = Duration::from_secs(10);

/// A route of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptRoute {
    /// `None` for every method.
    pub(crate) method: Option<String>,
    pub(crate) path: String,
}

impl RecordedVersions {
    /// The time that the current version has been on trial, if a roll-back can follow.
    pub(crate) fn time_on_trial(&self) -> Option<Duration> {
        let trial = self.trial.filter(|_| self.previous.is_some());
        trial.map(Duration::from_millis)
    }

    pub(super) fn digests(&self) -> impl Iterator<Item = &str> {
        self.components().chain(self.base.as_deref())
    }

    /// The components that the directory holds for it. The application brings the base along.
    fn components(&self) -> impl Iterator<Item = &str> {
        self.current.as_deref().into_iter().chain(self.previous.as_deref())
    }
}

impl StateDirectory {
    /// Opens the directory, and makes it if it does not exist; no other process may have it open. Removes the files of
    /// changes that were not finished.
    ///
    /// A directory that was opened before may be read-only since, and its disk may be full: then the recorded versions serve,
    /// and every change fails.
    ///
    /// On Unix it and its files must belong to the user who runs the process, and no other user may write them: its components
    /// are run.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State) if it cannot be made, read or written; if it is open already, in this process
    /// or another one; if a file in it is damaged or of a newer version.
    ///
    /// # Examples
    /// ```no_run
    /// let state = pointwork::StateDirectory::open("/var/lib/pointwork")?;
    /// let options = pointwork::AppOptions::new().state(state);
    /// let app = pointwork::App::with_options(options)?;
    /// # Ok::<(), pointwork::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let name = format!("the state directory `{}`", path.display());
        let unusable = |error| Error::new(ErrorKind::State, format!("{name} cannot be used")).with_source(error);
        files::make_directory(&path).map_err(unusable)?;
        files::check_access(&name, &fs::metadata(&path).map_err(unusable)?, OTHERS_WRITE)?;
        let file = path.join(LOCK);
        if file.exists() {
            open_file(&file).or_error(ErrorKind::State, format!("`{}` cannot be used", file.display()))?;
        }
        let lock = files::private_file()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&file);
        // A directory that cannot be written is read all the same.
        let lock = lock
            .or_else(|error| File::open(&file).map_err(|_| error))
            .map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!("{name} is in use by another server");
                return Err(Error::new(ErrorKind::State, message).with_hint(
                    "each server needs a state directory of its own; end the other one, or name another one",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        check_access(&path)?;
        let modules = read_record(&path)?;
        files::make_directory(&path.join(COMPONENTS)).map_err(unusable)?;
        let content = Mutex::new(Content {
            modules,
            pinned: Vec::new(),
        });
        let this = Self(Arc::new(OpenState {
            path,
            content,
            _lock: lock,
        }));
        this.clear(&mut this.0.content.lock());
        Ok(this)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// The names of all modules that it knows, including removed ones.
    pub fn names(&self) -> Vec<String> {
        self.0.content.lock().modules.keys().cloned().collect()
    }

    /// The versions of a module.
    pub fn versions(&self, module: &str) -> Option<RecordedVersions> {
        self.0.content.lock().modules.get(module).cloned()
    }

    /// The component of that digest with at most that many bytes, verified. Blocks.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State) if it is not there, longer, or damaged.
    pub(crate) fn component(&self, digest: &str, most: u64) -> Result<Vec<u8>, Error> {
        let path = self.component_path(digest)?;
        let shown = path.display();
        let read = read_file(&path, most);
        let component = read.or_error(ErrorKind::State, format!("the component `{shown}` cannot be read"))?;
        let found = crate::digest(&component);
        if found != digest {
            let message = format!("the component `{shown}` is damaged: its SHA-256 is `{found}`, expected `{digest}`");
            return Err(Error::new(ErrorKind::State, message)
                .with_hint("put the component with that digest in its place, or remove the state directory"));
        }
        Ok(component)
    }

    /// Writes a component under its digest in hex, and pins it. It is on the disk when this returns, and stays there
    /// while the pin lives or a version names it. Blocks.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State) if it cannot be written, or has another digest.
    pub(crate) fn pin(&self, digest: &str, component: &[u8]) -> Result<PinnedComponent, Error> {
        let path = self.component_path(digest)?;
        let found = crate::digest(component);
        if found != digest {
            let message = format!("a component has the SHA-256 `{found}`, expected `{digest}`");
            return Err(Error::new(ErrorKind::State, message));
        }
        // From here on the file is not removed.
        let pinned = PinnedComponent(digest.into());
        self.0.content.lock().pinned.push(Arc::downgrade(&pinned.0));
        if read_file(&path, component.len() as u64).is_ok_and(|there| there == component) {
            return Ok(pinned);
        }
        let message = format!("the component `{}` cannot be written", path.display());
        files::replace(&path, &[component]).or_error(ErrorKind::State, message)?;
        Ok(pinned)
    }

    /// Records the versions of a module atomically, and removes components that are no longer needed. The default value
    /// removes the module from the record, and a record that stays the same is not written. A previous version whose
    /// component is not there is left out with a warning. Blocks.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State) if it cannot be written, or the component of the current version is not there.
    pub(crate) fn commit(&self, module: &str, mut versions: RecordedVersions) -> Result<(), Error> {
        let mut content = self.0.content.lock();
        if let Some(digest) = &versions.current
            && !self.component_path(digest)?.is_file()
        {
            let message = format!("module `{module}` cannot have the version `{digest}`: its component is not there");
            return Err(Error::new(ErrorKind::State, message));
        }
        if let Some(digest) = &versions.previous
            && !self.component_path(digest)?.is_file()
        {
            let path = self.component_path(digest)?;
            tracing::warn!(
                module,
                "the module cannot be rolled back: the component of its previous version, `{}`, is missing",
                path.display()
            );
            versions.previous = None;
        }
        let mut modules = content.modules.clone();
        if versions == RecordedVersions::default() {
            modules.remove(module);
        } else {
            modules.insert(module.to_owned(), versions);
        }
        if modules != content.modules {
            write_record(&self.0.path, &modules)?;
            content.modules = modules;
        }
        self.clear(&mut content);
        Ok(())
    }

    /// Records the calls of versions and their time on trial, in one write. A version that is not current is left out. Time alone is
    /// recorded in steps of [`TRIAL_STEP`]. Blocks.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State) if the record cannot be written.
    pub(crate) fn record_calls(&self, versions: &[VersionCalls]) -> Result<(), Error> {
        let mut content = self.0.content.lock();
        let is_known = |version: &&VersionCalls| {
            let recorded = content.modules.get(&version.module);
            recorded.is_none_or(|recorded| version.is_known(recorded))
        };
        if versions.iter().all(|version| is_known(&version)) {
            return Ok(());
        }
        let mut modules = content.modules.clone();
        for version in versions.iter().filter(|version| !is_known(version)) {
            if let Some(recorded) = modules.get_mut(&version.module) {
                recorded.calls.clone_from(&version.calls);
                let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                recorded.trial = version.time_on_trial.map(millis);
            }
        }
        write_record(&self.0.path, &modules)?;
        content.modules = modules;
        Ok(())
    }

    /// Removes components that no version names and nothing pins. If that fails, it warns.
    fn clear(&self, content: &mut Content) {
        content.pinned.retain(|digest| digest.strong_count() > 0);
        let pinned: Vec<_> = content.pinned.iter().filter_map(Weak::upgrade).collect();
        let components = self.0.path.join(COMPONENTS);
        let needed: BTreeSet<_> = content
            .modules
            .values()
            .flat_map(RecordedVersions::components)
            .collect();
        let cleared = fs::read_dir(&components).and_then(|entries| {
            for entry in entries {
                let name = entry?.file_name();
                let name = name.to_string_lossy();
                // A component that is being written has a temporary name.
                if record::is_digest(&name) && !needed.contains(&*name) && pinned.iter().all(|digest| **digest != *name)
                {
                    files::remove(&components.join(&*name))?;
                }
            }
            Ok(())
        });
        if let Err(error) = cleared {
            tracing::warn!(
                "unused components in `{}` cannot be removed: {error}",
                components.display()
            );
        }
    }

    fn component_path(&self, digest: &str) -> Result<PathBuf, Error> {
        if record::is_digest(digest) {
            return Ok(self.0.path.join(COMPONENTS).join(digest));
        }
        let message = format!("`{}` is not a SHA-256 in lower-case hex", digest.escape_debug());
        Err(Error::new(ErrorKind::State, message))
    }
}

/// Keeps a component on the disk although no version names it yet.
#[derive(Debug)]
#[must_use = "once it is dropped, the component is removed unless a version names it"]
pub(crate) struct PinnedComponent(Arc<str>);

/// The longest record, in bytes: the routes of all modules are in it.
const MOST_RECORD: u64 = 256 * 1024 * 1024;

/// Refuses a directory with a file that another user may write.
fn check_access(directory: &Path) -> Result<(), Error> {
    let components = directory.join(COMPONENTS);
    let mut paths = vec![directory.join(RECORD), components.clone()];
    let entries = fs::read_dir(components).into_iter().flatten().flatten();
    let kept = entries.filter(|entry| record::is_digest(&entry.file_name().to_string_lossy()));
    paths.extend(kept.map(|entry| entry.path()));
    for path in paths {
        // What cannot be examined cannot be read either, which is an error of its own.
        if let Ok(found) = fs::metadata(&path) {
            let name = format!("`{}`", path.display());
            files::check_access(&name, &found, OTHERS_WRITE)?;
        }
    }
    Ok(())
}

/// Reads the record, or writes an empty one if the directory is new.
fn read_record(directory: &Path) -> Result<Modules, Error> {
    let path = directory.join(RECORD);
    let name = format!("the state `{}`", path.display());
    let unusable = |error| Error::new(ErrorKind::State, format!("{name} cannot be read")).with_source(error);
    let components = directory.join(COMPONENTS);
    for cleared in [directory, &components].into_iter().filter(|cleared| cleared.is_dir()) {
        if let Err(error) = files::clear_temporaries(cleared) {
            tracing::warn!("temporary files in `{}` cannot be removed: {error}", cleared.display());
        }
    }
    match read_file(&path, MOST_RECORD) {
        Ok(text) => record::read(&text).map_err(|unreadable| {
            let hint = unreadable.hint();
            Error::new(ErrorKind::State, format!("{name} is damaged or of another version"))
                .with_source(unreadable)
                .with_hint(hint)
        }),
        // The directory of the components is made after the record, so that it is new without one.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !components.exists() => {
            write_record(directory, &Modules::new())?;
            Ok(Modules::new())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = format!("{name} is missing, though there are components");
            Err(Error::new(ErrorKind::State, message).with_hint(
                "copy the file back from a backup; or remove the state directory: every module then begins with its \
                 configured component",
            ))
        }
        Err(error) => Err(unusable(error)),
    }
}

fn write_record(directory: &Path, modules: &Modules) -> Result<(), Error> {
    let path = directory.join(RECORD);
    let written = record::write(modules)
        .map_err(io::Error::from)
        .and_then(|text| files::replace(&path, &[&text]));
    written.or_error(
        ErrorKind::State,
        format!("the state `{}` cannot be written", path.display()),
    )
}

#[cfg(test)]
mod tests;
