//! The format of a cache entry: one compiled component, authenticated.
//!
//! ```text
//! magic and version of the format    8 bytes
//! key of the entry                  32 bytes
//! keyed BLAKE3 of all the rest      32 bytes
//! the artifact                      to the end
//! ```

use std::fmt;

use blake3::{Hash, Hasher};

use crate::digest::hex;

/// The last byte is the version of the format.
const MAGIC: [u8; 8] = *b"pw-aot\0\x01";

/// The offset of the authentication code.
const CODE: usize = MAGIC.len() + 32;

/// The length of the head, in bytes.
const HEAD: usize = CODE + 32;

/// Identifies an engine with its settings, a component, and the version of the format.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct CacheKey([u8; 32]);

impl CacheKey {
    /// `fingerprint` is that of the engine.
    pub(super) fn new(fingerprint: &[u8; 32], component: &[u8]) -> Self {
        // Each start hashes as many bytes as the compiled code has, and not every processor has instructions for SHA-256.
        let mut hasher = Hasher::new();
        hasher.update(&MAGIC).update(fingerprint).update(component);
        Self(hasher.finalize().into())
    }

    pub(super) fn file_name(&self) -> String {
        format!("{}.{EXTENSION}", hex(&self.0))
    }
}

/// The extension of an entry's file.
pub(super) const EXTENSION: &str = "aot";

/// The secret that authenticates entries.
#[derive(Clone)]
pub(super) struct Secret([u8; 32]);

impl Secret {
    pub(super) fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// The head of the file of an artifact.
    pub(super) fn head(&self, key: &CacheKey, artifact: &[u8]) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[..MAGIC.len()].copy_from_slice(&MAGIC);
        head[MAGIC.len()..CODE].copy_from_slice(&key.0);
        let code = self.code(&head[..CODE], artifact);
        head[CODE..].copy_from_slice(code.as_bytes());
        head
    }

    /// The offset of the artifact in a file that is whole, has this key, and was written with this secret.
    pub(super) fn check(&self, key: &CacheKey, file: &[u8]) -> Result<usize, Damage> {
        let (head, artifact) = file.split_at_checked(HEAD).ok_or(Damage::Truncated)?;
        let (claim, code) = head.split_at(CODE);
        if claim[..MAGIC.len()] != MAGIC {
            return Err(Damage::Format);
        }
        let code = Hash::from_slice(code).map_err(|_| Damage::Truncated)?;
        // Hashes are compared in constant time.
        if self.code(claim, artifact) != code {
            return Err(Damage::Unauthentic);
        }
        if claim[MAGIC.len()..] != key.0 {
            return Err(Damage::Foreign);
        }
        Ok(HEAD)
    }

    fn code(&self, claim: &[u8], artifact: &[u8]) -> Hash {
        Hasher::new_keyed(&self.0).update(claim).update(artifact).finalize()
    }
}

/// The reason why an entry is not used.
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
            Self::Format => "it is not an entry of this format",
            Self::Unauthentic => "it was changed, or written with another secret",
            Self::Foreign => "it is the entry of another component or other settings",
        })
    }
}

impl std::error::Error for Damage {}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: [u8; 32] = [7; 32];

    fn written(key: &CacheKey, artifact: &[u8]) -> Vec<u8> {
        let mut file = Secret::new(SECRET).head(key, artifact).to_vec();
        file.extend_from_slice(artifact);
        file
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let key = CacheKey::new(&[1; 32], b"component");
        let file = written(&key, b"artifact");
        let start = Secret::new(SECRET).check(&key, &file).expect("it is whole");
        assert_eq!(&file[start..], b"artifact");
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let key = CacheKey::new(&[1; 32], b"component");
        let mut file = written(&key, b"artifact");
        for bit in 0..file.len() * 8 {
            file[bit / 8] ^= 1 << (bit % 8);
            assert!(Secret::new(SECRET).check(&key, &file).is_err(), "bit {bit}");
            file[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn every_truncation_and_every_extension_is_noticed() {
        let key = CacheKey::new(&[1; 32], b"component");
        let mut file = written(&key, b"artifact");
        for length in 0..file.len() {
            assert!(Secret::new(SECRET).check(&key, &file[..length]).is_err(), "{length}");
        }
        file.push(0);
        assert_eq!(Secret::new(SECRET).check(&key, &file), Err(Damage::Unauthentic));
    }

    #[test]
    fn an_entry_of_another_secret_component_or_engine_is_not_used() {
        let key = CacheKey::new(&[1; 32], b"component");
        let file = written(&key, b"artifact");
        assert_eq!(Secret::new([8; 32]).check(&key, &file), Err(Damage::Unauthentic));
        for other in [
            CacheKey::new(&[1; 32], b"another"),
            CacheKey::new(&[2; 32], b"component"),
        ] {
            assert_eq!(Secret::new(SECRET).check(&other, &file), Err(Damage::Foreign));
            assert_ne!(other.file_name(), key.file_name());
        }
    }
}
