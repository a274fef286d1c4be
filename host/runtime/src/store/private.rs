//! Whether a file or a directory is this user's alone.

use std::fs::Metadata;

use crate::{Error, ErrorKind};

/// Refuses what belongs to somebody else, or has any of the bits of `forbidden` in its mode.
///
/// `what` names it with its path: ``the cache directory `/var/cache/pointwork` ``.
#[cfg(unix)]
pub(super) fn check(what: &str, metadata: &Metadata, forbidden: u32) -> Result<(), Error> {
    use std::os::unix::fs::MetadataExt;

    let (owner, user) = (metadata.uid(), rustix::process::geteuid().as_raw());
    if owner != user {
        let message = format!("{what} belongs to user {owner}, expected user {user}, who runs this");
        return Err(Error::new(ErrorKind::State, message).with_hint("name another one, or change its owner"));
    }
    let mode = metadata.mode() & 0o777;
    if mode & forbidden == 0 {
        return Ok(());
    }
    let wanted = mode & !forbidden;
    let message = format!("{what} is open to others: its mode is {mode:04o}, expected {wanted:04o}");
    Err(Error::new(ErrorKind::State, message).with_hint(format!("set its mode with `chmod {wanted:o}`")))
}

/// Elsewhere, access is the business of whoever makes the directory.
#[cfg(not(unix))]
pub(super) fn check(_what: &str, _metadata: &Metadata, _forbidden: u32) -> Result<(), Error> {
    Ok(())
}
