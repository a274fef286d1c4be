//! A Unix socket that belongs to one process and one user.

use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

use crate::{Error, ErrorKind};

/// The file of a socket. Dropping this removes it, unless another file has taken its place.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and inode, to tell it from another file of that path.
    identity: (u64, u64),
}

/// Listens on a socket at `path` that its owner alone can open.
///
/// The socket is created in a private folder and renamed to `path` when its permissions are set, so that no other user can
/// connect at any moment.
pub(crate) fn bind(path: &Path) -> Result<(UnixListener, SocketFile), Error> {
    let failed = |error: io::Error| {
        let message = format!("cannot listen on the socket `{}`", path.display());
        Error::new(ErrorKind::Socket, message).with_source(error)
    };
    check_vacant(path)?;
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let private = tempfile::Builder::new()
        .prefix(".pw")
        .rand_bytes(4)
        .tempdir_in(folder)
        .map_err(failed)?;
    let made = private.path().join("s");
    let listener = UnixListener::bind(&made).map_err(failed)?;
    fs::set_permissions(&made, fs::Permissions::from_mode(0o600)).map_err(failed)?;
    let metadata = fs::symlink_metadata(&made).map_err(failed)?;
    fs::rename(&made, path).map_err(failed)?;
    let file = SocketFile {
        path: path.to_owned(),
        identity: (metadata.dev(), metadata.ino()),
    };
    Ok((listener, file))
}

/// Checks that `path` does not exist, or is a socket that a dead process left behind.
fn check_vacant(path: &Path) -> Result<(), Error> {
    let refused = |kind, message: &str| Error::new(kind, format!("`{}` {message}", path.display()));
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(refused(ErrorKind::Socket, "cannot be examined").with_source(error)),
        Ok(metadata) if !metadata.file_type().is_socket() => {
            return Err(refused(ErrorKind::Socket, "exists and is not a socket"));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Ok(_) => Err(refused(ErrorKind::InUse, "is the socket of another process")),
        // No process listens.
        Err(error) if matches!(error.kind(), io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound) => Ok(()),
        Err(error) => Err(refused(ErrorKind::InUse, "is a socket that does not answer").with_source(error)),
    }
}

impl SocketFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = |metadata: fs::Metadata| {
            metadata.file_type().is_socket() && (metadata.dev(), metadata.ino()) == self.identity
        };
        if fs::symlink_metadata(&self.path).is_ok_and(is_ours)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!("the socket `{}` cannot be removed: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn socket_of_a_successor_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("admin.sock");
        let (listener, file) = bind(&path).expect("nothing is there");
        drop(listener);
        let (_listener, _file) = bind(&path).expect("the other one is gone");
        drop(file);
        assert!(path.exists());
    }

    #[tokio::test]
    async fn file_that_is_not_a_socket_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notes.txt");
        fs::write(&path, "buy tea").expect("written");
        let error = bind(&path).expect_err("it is a file");
        assert!(error.to_string().ends_with("exists and is not a socket"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("still there"), "buy tea");
    }
}
