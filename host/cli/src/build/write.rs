//! Replaces a file atomically.

use std::io::{self, Write};
use std::path::Path;

use crate::error::{OrFailed, Result};

/// Writes `bytes` to `path`. A reader sees the old file or the new one, never a part.
pub(super) fn atomically(path: &Path, bytes: &[u8]) -> Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    try_write(directory, path, bytes).or_failed(format_args!("cannot write `{}`", path.display()))
}

fn try_write(directory: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pointwork-");
    // A temporary file is private by default, but a server of another user reads this one. The mask of the process
    // applies.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_the_file_and_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("new/module.wasm");
        atomically(&path, b"one").expect("written");
        atomically(&path, b"two").expect("written again");
        assert_eq!(std::fs::read(&path).expect("there"), b"two");
        assert_eq!(
            std::fs::read_dir(path.parent().expect("a parent"))
                .expect("readable")
                .count(),
            1
        );
    }

    #[test]
    fn place_that_cannot_be_written_is_named() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("file");
        std::fs::write(&file, "").expect("written");
        let error = atomically(&file.join("module.wasm"), b"").expect_err("a file is no directory");
        assert!(error.to_string().contains("module.wasm"), "{error}");
    }
}
