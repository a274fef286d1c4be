//! Which version of each module is current.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::record::{self, Modules};
use super::{files, private};
use crate::{Error, ErrorKind};

/// Which process has the directory open.
const LOCK: &str = "lock";

/// What is current.
const RECORD: &str = "state.json";

/// Where the components are, each under its digest.
const COMPONENTS: &str = "components";

/// The directory that says which version of each module is current, and has the components themselves.
///
/// One process at a time has it open, for as long as a clone of this value lives. Whenever the process or the machine
/// stops, the directory holds what was true before a change or what is true after it, and the components of both.
///
/// ```text
/// state.json           which version of each module is current, authenticated by nothing but a digest against damage
/// components/<sha256>  the components that a version names
/// lock                 who has it open
/// ```
#[derive(Clone, Debug)]
pub struct StateDirectory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    said: Mutex<Said>,
    /// Held, not used.
    _lock: File,
}

#[derive(Debug, Default)]
struct Said {
    modules: Modules,
    /// Components that no version names yet, each with how many hold it.
    pinned: BTreeMap<String, usize>,
}

/// What the state directory says of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Version {
    /// SHA-256 of the version that is current, in hex; `None` if the module was removed.
    pub current: Option<String>,
    /// SHA-256 of the version that a roll-back leads to.
    pub previous: Option<String>,
    /// SHA-256 of what the application was told to load when it began: once that is another, it takes the place of
    /// what is current.
    pub base: Option<String>,
}

impl Version {
    pub(super) fn digests(&self) -> impl Iterator<Item = &str> {
        self.components().chain(self.base.as_deref())
    }

    /// The components that are kept for it. The base is the application's to bring along.
    fn components(&self) -> impl Iterator<Item = &str> {
        self.current.as_deref().into_iter().chain(self.previous.as_deref())
    }
}

impl StateDirectory {
    /// Opens the directory, and makes it if it is not there; no other process may have it open. Removes what a process
    /// left behind that did not come to the end of a change.
    ///
    /// On Unix it must belong to the user who runs the process, and not be writable for everybody: what it holds is run.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State) if it cannot be made, read or written; if it is open already, in this process or
    /// another one; if a file in it is damaged or of a newer version.
    ///
    /// # Examples
    /// ```no_run
    /// let mut options = pointwork::AppOptions::default();
    /// options.state = Some(pointwork::StateDirectory::open("/var/lib/pointwork")?);
    /// let app = pointwork::App::with_options(options)?;
    /// # Ok::<(), pointwork::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref().to_owned();
        let what = format!("the state directory `{}`", path.display());
        let unusable = |error| Error::new(ErrorKind::State, format!("{what} cannot be used")).with_source(error);
        files::make_directory(&path).map_err(unusable)?;
        private::check(&what, &fs::metadata(&path).map_err(unusable)?, 0o002)?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path.join(LOCK))
            .map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!("{what} is in use by another server");
                return Err(Error::new(ErrorKind::State, message).with_hint(
                    "each server needs a state directory of its own; end the other one, or name another one",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        let modules = modules(&path)?;
        files::make_directory(&path.join(COMPONENTS)).map_err(unusable)?;
        let said = Mutex::new(Said {
            modules,
            pinned: BTreeMap::new(),
        });
        let this = Self(Arc::new(Inner {
            path,
            said,
            _lock: lock,
        }));
        this.clear(&this.said());
        Ok(this)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Every module that it has something about, by name.
    pub fn names(&self) -> Vec<String> {
        self.said().modules.keys().cloned().collect()
    }

    /// What it says of a module.
    pub fn version(&self, module: &str) -> Option<Version> {
        self.said().modules.get(module).cloned()
    }

    /// The component of that digest, verified. Blocks.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State) if it is not there, or damaged.
    pub(crate) fn component(&self, digest: &str) -> Result<Vec<u8>, Error> {
        let path = self.component_path(digest)?;
        let shown = path.display();
        let component = fs::read(&path).map_err(|error| {
            Error::new(ErrorKind::State, format!("the component `{shown}` cannot be read")).with_source(error)
        })?;
        let found = crate::digest(&component);
        if found != digest {
            let message = format!("the component `{shown}` is damaged: its SHA-256 is `{found}`, expected `{digest}`");
            return Err(Error::new(ErrorKind::State, message)
                .with_hint("put the component with that digest in its place, or remove the state directory"));
        }
        Ok(component)
    }

    /// Keeps a component, under its digest in hex. It is on the disk when this returns, and stays there while the value
    /// lives, or a version names it. Blocks.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State) if it cannot be written, or has another digest.
    pub(crate) fn keep(&self, digest: &str, component: &[u8]) -> Result<Kept, Error> {
        let path = self.component_path(digest)?;
        let found = crate::digest(component);
        if found != digest {
            let message = format!("a component has the SHA-256 `{found}`, expected `{digest}`");
            return Err(Error::new(ErrorKind::State, message));
        }
        // From here on nobody removes the file.
        *self.said().pinned.entry(digest.to_owned()).or_default() += 1;
        let kept = Kept {
            state: self.clone(),
            digest: digest.to_owned(),
        };
        if fs::read(&path).is_ok_and(|there| there == component) {
            return Ok(kept);
        }
        files::replace(&path, &[component]).map_err(|error| {
            Error::new(
                ErrorKind::State,
                format!("the component `{}` cannot be written", path.display()),
            )
            .with_source(error)
        })?;
        Ok(kept)
    }

    /// Makes what is said of a module true, on the disk, whole or not at all; and forgets components that no module
    /// has any more. Blocks.
    ///
    /// A version that says nothing is forgotten.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State) if it cannot be written, or names a component that is not kept.
    pub(crate) fn commit(&self, module: &str, version: Version) -> Result<(), Error> {
        let mut said = self.said();
        for digest in version.components() {
            let path = self.component_path(digest)?;
            if !path.is_file() {
                let message = format!("module `{module}` cannot have the version `{digest}`: it is not kept");
                return Err(Error::new(ErrorKind::State, message));
            }
        }
        let mut modules = said.modules.clone();
        if version == Version::default() {
            modules.remove(module);
        } else {
            modules.insert(module.to_owned(), version);
        }
        write(&self.0.path, &modules)?;
        said.modules = modules;
        self.clear(&said);
        Ok(())
    }

    /// Removes components that nobody needs, and files that were never finished. What stays by mistake costs room alone.
    fn clear(&self, said: &Said) {
        let components = self.0.path.join(COMPONENTS);
        let needed: BTreeSet<_> = said.modules.values().flat_map(Version::components).collect();
        let cleared = fs::read_dir(&components).and_then(|entries| {
            for entry in entries {
                let name = entry?.file_name();
                let name = name.to_string_lossy();
                // A component that is being written has a temporary name.
                if record::is_digest(&name) && !needed.contains(&*name) && !said.pinned.contains_key(&*name) {
                    files::remove(&components.join(&*name))?;
                }
            }
            Ok(())
        });
        if let Err(error) = cleared {
            tracing::warn!(
                "components in `{}` stay that no module has: {error}",
                components.display()
            );
        }
    }

    fn component_path(&self, digest: &str) -> Result<PathBuf, Error> {
        if record::is_digest(digest) {
            return Ok(self.0.path.join(COMPONENTS).join(digest));
        }
        let message = format!("`{}` is no SHA-256 in lower-case hex", digest.escape_debug());
        Err(Error::new(ErrorKind::State, message))
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        // Each change of it is one assignment.
        self.0.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A component that stays on the disk although no version names it yet.
#[derive(Debug)]
#[must_use = "once it is dropped, the component goes unless a version names it"]
pub(crate) struct Kept {
    state: StateDirectory,
    digest: String,
}

impl Drop for Kept {
    fn drop(&mut self) {
        let mut said = self.state.said();
        if let Some(holders) = said.pinned.get_mut(&self.digest) {
            *holders -= 1;
            if *holders == 0 {
                said.pinned.remove(&self.digest);
            }
        }
    }
}

/// Reads what is current, and begins the record if the directory is new.
fn modules(directory: &Path) -> Result<Modules, Error> {
    let path = directory.join(RECORD);
    let what = format!("the state `{}`", path.display());
    let unusable = |error| Error::new(ErrorKind::State, format!("{what} cannot be read")).with_source(error);
    // Nobody else is here, so what is temporary is abandoned.
    files::clear_temporaries(directory, Duration::ZERO).map_err(unusable)?;
    let components = directory.join(COMPONENTS);
    if components.is_dir() {
        files::clear_temporaries(&components, Duration::ZERO).map_err(unusable)?;
    }
    match fs::read(&path) {
        Ok(text) => record::read(&text).map_err(|unreadable| {
            let hint = unreadable.hint();
            Error::new(ErrorKind::State, format!("{what} is damaged or of another version"))
                .with_source(unreadable)
                .with_hint(hint)
        }),
        // The components come after the record, so without them the directory is new.
        Err(error) if error.kind() == io::ErrorKind::NotFound && !components.exists() => {
            write(directory, &Modules::new())?;
            Ok(Modules::new())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let message = format!("{what} is gone, though there are components");
            Err(Error::new(ErrorKind::State, message).with_hint(
                "copy the file back from a backup; or remove the state directory: every module then begins with the \
                 component that it is configured with",
            ))
        }
        Err(error) => Err(unusable(error)),
    }
}

fn write(directory: &Path, modules: &Modules) -> Result<(), Error> {
    let path = directory.join(RECORD);
    let written = record::write(modules)
        .map_err(io::Error::from)
        .and_then(|text| files::replace(&path, &[&text]));
    written.map_err(|error| {
        Error::new(
            ErrorKind::State,
            format!("the state `{}` cannot be written", path.display()),
        )
        .with_source(error)
    })
}

#[cfg(test)]
mod tests;
