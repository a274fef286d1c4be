//! One compiled component in a file, authenticated.
//!
//! ```text
//! magic and version of the format    8 bytes
//! what it is an entry for           32 bytes
//! keyed BLAKE3 over all the rest    32 bytes
//! the artifact                      to the end
//! ```

use std::fmt;

use blake3::{Hash, Hasher};

use crate::digest::hex;

/// The last byte is the version of the format.
const MAGIC: [u8; 8] = *b"pw-aot\0\x01";

/// Where the code begins that authenticates the rest.
const CODE: usize = MAGIC.len() + 32;

/// How long the head is, in bytes.
const HEAD: usize = CODE + 32;

/// What an entry is for: an engine with its settings, a component, and a version of the format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry([u8; 32]);

impl Entry {
    /// `fingerprint` is that of the engine.
    pub(crate) fn new(fingerprint: &[u8; 32], component: &[u8]) -> Self {
        // What is hashed at every start is as large as the compiled code, and not every processor has instructions for
        // SHA-256.
        let mut hasher = Hasher::new();
        hasher.update(&MAGIC).update(fingerprint).update(component);
        Self(hasher.finalize().into())
    }

    pub(super) fn file_name(&self) -> String {
        format!("{}.{EXTENSION}", hex(&self.0))
    }
}

/// How the name of an entry ends.
pub(super) const EXTENSION: &str = "aot";

/// The secret that entries are authenticated with.
#[derive(Clone)]
pub(super) struct Key([u8; 32]);

impl Key {
    pub(super) fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// What stands before an artifact in its file.
    pub(super) fn head(&self, entry: &Entry, artifact: &[u8]) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[..MAGIC.len()].copy_from_slice(&MAGIC);
        head[MAGIC.len()..CODE].copy_from_slice(&entry.0);
        let code = self.code(&head[..CODE], artifact);
        head[CODE..].copy_from_slice(code.as_bytes());
        head
    }

    /// Where the artifact begins in a file that is whole, is the one for `entry`, and was written with this key.
    pub(super) fn check(&self, entry: &Entry, file: &[u8]) -> Result<usize, Damage> {
        let (head, artifact) = file.split_at_checked(HEAD).ok_or(Damage::Truncated)?;
        let (says, code) = head.split_at(CODE);
        if says[..MAGIC.len()] != MAGIC {
            return Err(Damage::Format);
        }
        let code = Hash::from_slice(code).map_err(|_| Damage::Truncated)?;
        // Hashes are compared in constant time.
        if self.code(says, artifact) != code {
            return Err(Damage::Unauthentic);
        }
        if says[MAGIC.len()..] != entry.0 {
            return Err(Damage::Foreign);
        }
        Ok(HEAD)
    }

    fn code(&self, says: &[u8], artifact: &[u8]) -> Hash {
        Hasher::new_keyed(&self.0).update(says).update(artifact).finalize()
    }
}

/// Why an entry is not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    Truncated,
    Format,
    Unauthentic,
    Foreign,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "it is truncated",
            Self::Format => "it is no entry of this format",
            Self::Unauthentic => "it was changed, or written with another key",
            Self::Foreign => "it is the entry of another component or other settings",
        })
    }
}

impl std::error::Error for Damage {}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: [u8; 32] = [7; 32];

    fn written(entry: &Entry, artifact: &[u8]) -> Vec<u8> {
        let mut file = Key::new(SECRET).head(entry, artifact).to_vec();
        file.extend_from_slice(artifact);
        file
    }

    #[test]
    fn what_was_written_is_read() {
        let entry = Entry::new(&[1; 32], b"component");
        let file = written(&entry, b"artifact");
        let start = Key::new(SECRET).check(&entry, &file).expect("it is whole");
        assert_eq!(&file[start..], b"artifact");
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let entry = Entry::new(&[1; 32], b"component");
        let mut file = written(&entry, b"artifact");
        for bit in 0..file.len() * 8 {
            file[bit / 8] ^= 1 << (bit % 8);
            assert!(Key::new(SECRET).check(&entry, &file).is_err(), "bit {bit}");
            file[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn every_truncation_and_every_extension_is_noticed() {
        let entry = Entry::new(&[1; 32], b"component");
        let mut file = written(&entry, b"artifact");
        for length in 0..file.len() {
            assert!(Key::new(SECRET).check(&entry, &file[..length]).is_err(), "{length}");
        }
        file.push(0);
        assert_eq!(Key::new(SECRET).check(&entry, &file), Err(Damage::Unauthentic));
    }

    #[test]
    fn an_entry_of_another_key_component_or_engine_is_not_used() {
        let entry = Entry::new(&[1; 32], b"component");
        let file = written(&entry, b"artifact");
        assert_eq!(Key::new([8; 32]).check(&entry, &file), Err(Damage::Unauthentic));
        for other in [Entry::new(&[1; 32], b"another"), Entry::new(&[2; 32], b"component")] {
            assert_eq!(Key::new(SECRET).check(&other, &file), Err(Damage::Foreign));
            assert_ne!(other.file_name(), entry.file_name());
        }
    }
}
