//! Files that are whole or not there, in directories that are nobody else's.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::NamedTempFile;

/// How the name of a file begins that is not whole yet.
const TEMPORARY: &str = ".tmp-";

/// Makes a directory that only its owner may enter, and what is above it; leaves one alone that is there.
pub(super) fn make_directory(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = folder(path);
    fs::create_dir_all(above)?;
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Ok(()) => sync(above),
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Puts a file in the place of the one that may be there. Whatever happens, one of the two is there, whole; when this
/// returns, the new one is on the disk.
pub(super) fn replace(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    write(path, parts)?.persist(path).map_err(|failed| failed.error)?;
    sync(folder(path))
}

/// As [`replace`], but fails with [`AlreadyExists`](io::ErrorKind::AlreadyExists) if the file is there.
pub(super) fn create(path: &Path, parts: &[&[u8]]) -> io::Result<()> {
    write(path, parts)?
        .persist_noclobber(path)
        .map_err(|failed| failed.error)?;
    sync(folder(path))
}

fn write(path: &Path, parts: &[&[u8]]) -> io::Result<NamedTempFile> {
    // Nobody else may read it: that is how the library makes them.
    let mut file = tempfile::Builder::new().prefix(TEMPORARY).tempfile_in(folder(path))?;
    for part in parts {
        file.write_all(part)?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

/// Removes what writers left behind that did not come to their end, if it is older than `age`.
pub(super) fn clear_temporaries(directory: &Path, age: Duration) -> io::Result<()> {
    let now = SystemTime::now();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with(TEMPORARY) {
            continue;
        }
        let written = entry.metadata()?.modified()?;
        if now.duration_since(written).unwrap_or_default() >= age {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes a file that may be gone already.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The directory that a file is in.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// A name in a directory is on the disk once the directory is.
fn sync(directory: &Path) -> io::Result<()> {
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
