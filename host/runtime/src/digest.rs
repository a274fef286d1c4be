//! The digest of a component.

use sha2::{Digest, Sha256};

/// The SHA-256 of a component in hex, as in [`ModuleInfo::digest`](crate::ModuleInfo::digest) and
/// [`Change::digest`](crate::Change::digest); [`ModuleOptions::digest`](crate::ModuleOptions::digest) expects it.
///
/// ```
/// assert!(pointwork::digest(b"component").starts_with("6985ca1f"));
/// ```
pub fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}
