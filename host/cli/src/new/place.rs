//! The directory of a new project.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, OrFailed, Result};

/// Checks that the directory is empty or does not exist.
pub(super) fn check_vacant(directory: &Path) -> Result<()> {
    let refuse = |path: &Path, what: &str| {
        Error::failed(format!("`{}` {what}", path.display())).with_hint("choose another directory with `--path DIR`")
    };
    if let Some(file) = directory.ancestors().find(|path| path.is_file()) {
        return Err(refuse(file, "is a file"));
    }
    match std::fs::read_dir(directory) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(refuse(directory, "is not empty")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => {
            Err(Error::failed(format!("cannot read the directory `{}`", directory.display())).with_source(error))
        }
    }
}

/// The absolute path of a directory, whose existing part has no links in it.
pub(super) fn absolute(directory: &Path) -> Result<PathBuf> {
    let (existing, rest) = split(directory)?;
    Ok(existing.canonicalize().unwrap_or(existing).join(rest))
}

/// Has `write` fill a hidden folder, and moves the content to the directory when it is complete: a failure leaves nothing.
pub(super) fn fill(directory: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
    let (existing, rest) = split(directory)?;
    let draft = tempfile::Builder::new().prefix(".pointwork-").tempdir_in(&existing);
    draft
        .and_then(|draft| {
            write(&draft.path().join(rest))?;
            for entry in std::fs::read_dir(draft.path())? {
                let entry = entry?;
                std::fs::rename(entry.path(), existing.join(entry.file_name()))?;
            }
            Ok(())
        })
        .or_failed(format_args!("cannot write `{}`", directory.display()))
}

/// The part of a path that exists, and the rest of it.
fn split(directory: &Path) -> Result<(PathBuf, PathBuf)> {
    let absolute =
        std::path::absolute(directory).or_failed(format_args!("cannot use the path `{}`", directory.display()))?;
    let existing = absolute.ancestors().find(|path| path.is_dir()).unwrap_or(&absolute);
    let rest = absolute.strip_prefix(existing).unwrap_or(Path::new(""));
    Ok((existing.to_owned(), rest.to_owned()))
}
