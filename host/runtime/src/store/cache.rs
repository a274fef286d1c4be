//! The cache of compiled components.

mod format;
#[cfg(any(test, fuzzing))]
#[path = "../../../../tests/fuzz/targets/artifacts.rs"]
pub(crate) mod fuzz;

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use pointwork_core::open_file;

use self::format::{CacheKey, EXTENSION, Secret};
use super::files;
use crate::{Error, ErrorKind};

/// The file with the secret that authenticates entries.
const SECRET: &str = "key";

const SECRET_BYTES: usize = 32;

/// The default limit of all entries together, in bytes.
const LIMIT: u64 = 1024 * 1024 * 1024;

/// A directory of compiled components, which several processes may share.
///
/// Compiled code runs as the host does, without a sandbox. So the directory is for one user alone, and each entry is
/// authenticated with a secret of the directory before it is used. The key of an entry is made of the engine's
/// settings, the version of its compiler and the component. An entry that is damaged, or was written elsewhere, is
/// removed with a warning, and the component is compiled again.
///
/// A cache that cannot be read or written costs time and a warning, never a module.
#[derive(Clone, derive_more::Debug)]
pub struct CacheDirectory {
    path: Arc<Path>,
    #[debug(skip)]
    secret: Secret,
    limit: u64,
}

impl CacheDirectory {
    /// Opens the directory, and makes it if it does not exist.
    ///
    /// On Unix only the user who runs the process may have access to it. Elsewhere the access is that of the directory as it was made.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State) if it cannot be made, read or written, or if it is open to others or belongs
    /// to another user.
    ///
    /// # Examples
    /// ```no_run
    /// let cache = pointwork::CacheDirectory::open("/var/cache/pointwork")?;
    /// let options = pointwork::AppOptions::new().cache(cache);
    /// let app = pointwork::App::with_options(options)?;
    /// # Ok::<(), pointwork::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let name = format!("the cache directory `{}`", path.display());
        let unusable = |error| Error::new(ErrorKind::State, format!("{name} cannot be used")).with_source(error);
        files::make_directory(path).map_err(unusable)?;
        files::check_access(&name, &fs::metadata(path).map_err(unusable)?, 0o077)?;
        if let Err(error) = files::clear_temporaries(path) {
            tracing::warn!(%error, "temporary files in {name} cannot be removed");
        }
        Ok(Self {
            path: path.into(),
            secret: secret(&path.join(SECRET))?,
            limit: LIMIT,
        })
    }

    /// Sets the limit of all entries together, in bytes. Past it, those that were not used for the longest time are
    /// removed. Default 1 GiB.
    #[must_use]
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The entry of a component that is compiled for the engine with that fingerprint; it may not exist.
    pub(crate) fn entry(&self, fingerprint: u64, component: &[u8]) -> CacheEntry {
        let key = CacheKey::new(fingerprint, component);
        CacheEntry {
            path: self.path.join(key.file_name()),
            directory: self.clone(),
            key,
        }
    }

    /// Removes the oldest entries until the others are within the limit, but never `newest`.
    fn shrink(&self, newest: &Path) -> io::Result<()> {
        let mut entries = Vec::new();
        let mut total = 0;
        for file in fs::read_dir(&self.path)? {
            let path = file?.path();
            if path.extension().is_none_or(|extension| extension != EXTENSION) {
                continue;
            }
            // Another process may have removed it just now.
            let Ok(metadata) = fs::metadata(&path) else { continue };
            total += metadata.len();
            if path != newest {
                entries.push((metadata.modified()?, metadata.len(), path));
            }
        }
        entries.sort();
        for (_, size, path) in entries {
            if total <= self.limit {
                break;
            }
            files::remove(&path)?;
            total -= size;
        }
        Ok(())
    }
}

#[derive(Clone)]
pub(crate) struct CacheEntry {
    directory: CacheDirectory,
    key: CacheKey,
    path: PathBuf,
}

/// An artifact that a host of this user wrote, unchanged since.
pub(crate) struct CachedArtifact(Bytes);

impl CachedArtifact {
    pub(crate) fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl CacheEntry {
    /// Reads the artifact; `None` if there is none that can be used. Blocks.
    pub(crate) fn read(&self) -> Option<CachedArtifact> {
        match self.try_read() {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                self.discard(&error);
                None
            }
        }
    }

    fn try_read(&self) -> io::Result<CachedArtifact> {
        let file = open_file(&self.path)?;
        let most = self.directory.limit;
        let mut bytes = Vec::new();
        (&file).take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Err(io::Error::other(format!(
                "it has over {most} bytes, the limit of the cache"
            )));
        }
        // The bytes in memory are checked: the file may change at any time.
        let Some(start) = self.directory.secret.check(&self.key, &bytes) else {
            return Err(io::Error::other("it is damaged, or was written with another secret"));
        };
        // This only decides which entries are removed first.
        let _ = file.set_modified(SystemTime::now());
        Ok(CachedArtifact(Bytes::from(bytes).slice(start..)))
    }

    /// Removes the entry with a warning. Blocks.
    pub(crate) fn discard(&self, reason: &dyn fmt::Display) {
        tracing::warn!(
            file = %self.path.display(),
            "the compiled component `{}` is not used, and the component is compiled again: {reason}",
            self.path.display()
        );
        // If it stays, the new entry replaces it.
        let _ = files::remove(&self.path);
    }

    /// Writes an artifact, and removes other entries that are over the limit then. If it cannot, it warns. Blocks.
    pub(crate) fn write(&self, artifact: &[u8]) {
        let CacheDirectory { path, secret, limit } = &self.directory;
        let directory = path.display();
        let code = secret.code(&self.key, artifact);
        let code = code.as_bytes();
        if (code.len() + artifact.len()) as u64 > *limit {
            tracing::warn!(
                "a compiled component of {} bytes is not cached: the limit of the cache directory `{directory}` is {limit} \
                 bytes",
                artifact.len()
            );
            return;
        }
        let written = files::replace(&self.path, &[code, artifact]).and_then(|()| self.directory.shrink(&self.path));
        if let Err(error) = written {
            tracing::warn!(
                "the cache directory `{directory}` cannot be written, and the component is compiled at the next start: \
                 {error}"
            );
        }
    }
}

/// The secret of a directory, made by the first process that opens it. A damaged one makes room for a new one: entries of the
/// old one are misses.
fn secret(path: &Path) -> Result<Secret, Error> {
    let name = format!("the key of the cache, `{}`,", path.display());
    let unusable = |error: io::Error| Error::new(ErrorKind::State, format!("{name} cannot be used")).with_source(error);
    let file = match open_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return new_secret(path).map_err(unusable),
        opened => opened.map_err(unusable)?,
    };
    files::check_access(&name, &file.metadata().map_err(unusable)?, 0o077)?;
    let mut bytes = Vec::new();
    // A longer one is damaged.
    (&file)
        .take(SECRET_BYTES as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(unusable)?;
    if let Ok(secret) = <[u8; SECRET_BYTES]>::try_from(&*bytes) {
        return Ok(Secret::new(secret));
    }
    tracing::warn!(
        "{name} is damaged, and a new one is made: components are compiled again. It had {} bytes, expected {SECRET_BYTES}",
        file.metadata().map_err(unusable)?.len()
    );
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(unusable(error)),
        _ => {}
    }
    new_secret(path).map_err(unusable)
}

fn new_secret(path: &Path) -> io::Result<Secret> {
    let mut secret = [0; SECRET_BYTES];
    getrandom::fill(&mut secret)?;
    match files::create(path, &[&secret]) {
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open_file(path)?.read_exact(&mut secret)?,
        created => created?,
    }
    Ok(Secret::new(secret))
}

#[cfg(test)]
mod tests;
