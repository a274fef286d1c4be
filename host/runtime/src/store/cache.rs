//! Compiled components, so that the next start need not compile them.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::entry::{EXTENSION, Entry, Key};
use super::{files, private};
use crate::{Error, ErrorKind};

/// The file with the secret that entries are authenticated with.
const KEY: &str = "key";

/// How old a temporary file is that nobody writes any more. Another process may share the directory.
const ABANDONED: Duration = Duration::from_secs(3_600);

/// How much room entries may take unless the application says otherwise, in bytes.
const LIMIT: u64 = 1024 * 1024 * 1024;

/// A directory of compiled components, which several processes may share.
///
/// Compiled code runs as the host does, whatever the component may do. So the directory is for one user alone, and each
/// entry is authenticated with a secret of the directory before it is used. It is found by the engine with its settings,
/// the version of its compiler, and the digest of the component. An entry that is damaged, or was written elsewhere, is
/// compiled again, with a warning.
///
/// A cache that cannot be read or written costs time and a warning, never a module.
#[derive(Clone)]
pub struct CacheDirectory {
    path: Arc<Path>,
    key: Key,
    limit: u64,
}

impl CacheDirectory {
    /// Opens the directory, and makes it if it is not there.
    ///
    /// On Unix nobody but the user who runs the process may have access to it. Elsewhere that is up to whoever makes it.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State) if it cannot be made, read or written, or if it is open to others or belongs to
    /// somebody else.
    ///
    /// # Examples
    /// ```no_run
    /// let mut options = pointwork::AppOptions::default();
    /// options.cache = Some(pointwork::CacheDirectory::open("/var/cache/pointwork")?);
    /// let app = pointwork::App::with_options(options)?;
    /// # Ok::<(), pointwork::Error>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let what = format!("the cache directory `{}`", path.display());
        let unusable = |error| Error::new(ErrorKind::State, format!("{what} cannot be used")).with_source(error);
        files::make_directory(path).map_err(unusable)?;
        private::check(&what, &fs::metadata(path).map_err(unusable)?, 0o077)?;
        if let Err(error) = files::clear_temporaries(path, ABANDONED) {
            tracing::warn!(%error, "temporary files in {what} stay");
        }
        Ok(Self {
            path: path.into(),
            key: key(&path.join(KEY))?,
            limit: LIMIT,
        })
    }

    /// Sets how much room all entries together may take, in bytes. Past it, those go that were not used for the longest
    /// time. Default 1 GiB.
    #[must_use]
    pub fn limit(mut self, bytes: u64) -> Self {
        self.limit = bytes;
        self
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads an entry; `None` if there is none that can be used. Blocks.
    pub(crate) fn find(&self, entry: &Entry) -> Option<Found> {
        let path = self.path.join(entry.file_name());
        match self.read(entry, &path) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                self.distrust(&path, &error);
                None
            }
        }
    }

    fn read(&self, entry: &Entry, path: &Path) -> io::Result<Found> {
        let mut file = File::open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        // What is checked is what was read: the file may change from here on.
        let start = self
            .key
            .check(entry, &bytes)
            .map_err(|damage| io::Error::new(io::ErrorKind::InvalidData, damage))?;
        // Only the order in which entries go depends on it.
        let _ = file.set_modified(SystemTime::now());
        Ok(Found {
            bytes,
            start,
            path: path.to_owned(),
        })
    }

    /// Says that an entry is not used, and removes it.
    pub(crate) fn distrust(&self, path: &Path, error: &dyn std::error::Error) {
        tracing::warn!(
            file = %path.display(),
            "the compiled component `{}` is not used, and the component is compiled again: {error}",
            path.display()
        );
        // If it stays, the new entry replaces it.
        let _ = files::remove(path);
    }

    /// Keeps an artifact, and removes what is too much by then. If it cannot, it warns. Blocks.
    pub(crate) fn store(&self, entry: &Entry, artifact: &[u8]) {
        let path = self.path.join(entry.file_name());
        let head = self.key.head(entry, artifact);
        if (head.len() + artifact.len()) as u64 > self.limit {
            tracing::warn!(
                "a compiled component of {} bytes is not kept: the cache directory `{}` may take {} bytes",
                artifact.len(),
                self.path.display(),
                self.limit
            );
            return;
        }
        let kept = files::replace(&path, &[&head, artifact]).and_then(|()| self.shrink(&path));
        if let Err(error) = kept {
            tracing::warn!(
                "the cache directory `{}` cannot be written, and the component is compiled at the next start: {error}",
                self.path.display()
            );
        }
    }

    /// Removes entries until all that are left have room, the oldest first and `newest` never.
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

impl fmt::Debug for CacheDirectory {
    // Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CacheDirectory")
            .field("path", &self.path)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

/// An artifact that this host wrote, and nobody changed since.
pub(crate) struct Found {
    bytes: Vec<u8>,
    start: usize,
    path: PathBuf,
}

impl Found {
    pub(crate) fn artifact(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// The secret of a directory, made by whoever comes first.
fn key(path: &Path) -> Result<Key, Error> {
    let what = format!("the key of the cache, `{}`,", path.display());
    let unusable = |error: io::Error| Error::new(ErrorKind::State, format!("{what} cannot be used")).with_source(error);
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let mut secret = [0; 32];
            getrandom::fill(&mut secret).map_err(|error| unusable(error.into()))?;
            match files::create(path, &[&secret]) {
                Ok(()) => return Ok(Key::new(secret)),
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => File::open(path).map_err(unusable)?,
                Err(error) => return Err(unusable(error)),
            }
        }
        opened => opened.map_err(unusable)?,
    };
    private::check(&what, &file.metadata().map_err(unusable)?, 0o077)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(unusable)?;
    let secret = <[u8; 32]>::try_from(bytes).map_err(|bytes| {
        let message = format!("{what} is damaged: it has {} bytes, expected 32", bytes.len());
        Error::new(ErrorKind::State, message)
            .with_hint("remove the cache directory: components are compiled again at the next start")
    })?;
    Ok(Key::new(secret))
}

#[cfg(test)]
mod tests;
