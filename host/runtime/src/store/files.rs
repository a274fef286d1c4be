//! Atomic writes, in directories of one user.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::NamedTempFile;

use crate::Error;
#[cfg(unix)]
use crate::ErrorKind;

/// The prefix of the names of files that are being written. Their writers hold a lock on them.
const TEMPORARY: &str = ".tmp-";

/// The age from which a temporary file is abandoned, on a file system without locks.
const ABANDONED: Duration = Duration::from_secs(3_600);

/// Makes a directory that only its owner may enter, and its parents; an existing one stays as it is.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = parent(path);
    fs::create_dir_all(parent)?;
    match private_directory().create(path) {
        Ok(()) => sync(parent),
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens a file that only its owner may access if it is made.
pub(super) fn private_file() -> OpenOptions {
    #[cfg_attr(not(unix), allow(unused_mut, reason = "there is no mode"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(unix)]
fn private_directory() -> DirBuilder {
    let mut builder = DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Elsewhere, the access is that of the parent.
#[cfg(not(unix))]
fn private_directory() -> DirBuilder {
    DirBuilder::new()
}

/// Refuses a file or directory of another user, or with any of the `forbidden` bits in its mode.
///
/// `name` is its name in messages, with its path: ``the cache directory `/var/cache/pointwork` ``.
#[cfg(unix)]
pub(super) fn check_access(name: &str, metadata: &Metadata, forbidden: u32) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;

    let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != user {
        let message = format!("{name} belongs to user {owner}, expected user {user}, who runs this");
        return Err(Error::new(ErrorKind::State, message).with_hint("name another one, or change its owner"));
    }
    let mode = metadata.mode() & 0o777;
    if mode & forbidden == 0 {
        return Ok(());
    }
    let expected = mode & !forbidden;
    let message = format!("{name} is open to others: its mode is {mode:04o}, expected {expected:04o}");
    Err(Error::new(ErrorKind::State, message).with_hint(format!("set its mode with `chmod {expected:o}`")))
}

/// Elsewhere, the access is that of the directory as it was made.
#[cfg(not(unix))]
pub(super) fn check_access(_name: &str, _metadata: &Metadata, _forbidden: u32) -> Result<(), Error> {
    Ok(())
}

/// Writes or replaces a file atomically. When this returns, the new content is on the disk.
pub(super) fn replace(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    write(path, parts)?.persist(path)?;
    sync(parent(path))
}

/// As [`replace`], but fails with [`AlreadyExists`](io::ErrorKind::AlreadyExists) if the file exists.
pub(super) fn create(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    write(path, parts)?.persist_noclobber(path)?;
    sync(parent(path))
}

fn write(path: &Path, parts: &[&[u8]]) -> io::Result<NamedTempFile> {
    let mut file = temporary(parent(path))?;
    for part in parts {
        file.write_all(part)?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

/// A new temporary file, locked.
fn temporary(directory: &Path) -> io::Result<NamedTempFile> {
    loop {
        // The library makes files that only their owner may read.
        let file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(directory)?;
        // Another process may clear the directory between these two steps.
        let is_taken = matches!(file.as_file().try_lock(), Err(TryLockError::WouldBlock));
        if !is_taken && file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes the temporary files whose writers have ended: they were killed.
pub(super) fn clear_temporaries(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default();
        // Anything but a file is not of this library.
        let is_file = || fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
        if !name.to_string_lossy().starts_with(TEMPORARY) || !is_file() {
            continue;
        }
        let file = match File::open(&path) {
            // Its writer is done.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        let is_abandoned = match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(_)) => {
                let written = file.metadata()?.modified()?;
                SystemTime::now().duration_since(written).unwrap_or_default() >= ABANDONED
            }
        };
        if is_abandoned {
            remove(&path)?;
        }
    }
    Ok(())
}

/// Removes a file, if it exists.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The directory that a file is in.
fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

/// A new name in a directory is on the disk once the directory is.
fn sync(directory: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
