//! The file with the token of the admin endpoint.

use std::path::Path;

use pointwork_core::read_text;

use crate::error::{Error, Result};
use crate::exit::Exit;

/// The size of the largest file.
const MAX_BYTES: u64 = 4 * 1024;

/// The token in a file, without the white space around it.
///
/// # Errors
///
/// The file cannot be read, or its text is not a token. The message does not show the text.
pub(crate) fn read(file: &Path) -> Result<String> {
    let invalid = || Error::new(Exit::Config, format!("`{}` has no valid token", file.display()));
    let text = read_text(file, MAX_BYTES).map_err(|error| invalid().with_source(error))?;
    pointwork_admin::Token::new(&text).map_err(|error| {
        invalid()
            .with_source(error)
            .with_hint("`openssl rand -base64 32` makes one")
    })?;
    warn_of_readers(file);
    Ok(text.trim().to_owned())
}

/// A user who can read the token can replace the modules.
#[cfg(unix)]
fn warn_of_readers(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::metadata(file).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0) {
        tracing::warn!(
            "other users than its owner may have access to the token file `{}`: run `chmod 600`",
            file.display()
        );
    }
}

#[cfg(not(unix))]
fn warn_of_readers(_: &Path) {}
