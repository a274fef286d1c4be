//! The format of a cache entry: an authentication code, then the artifact.

use blake3::{Hash, Hasher};

/// The version of the format, a part of every key.
const FORMAT: &[u8] = b"pointwork aot 2";

/// The extension of an entry's file.
pub(super) const EXTENSION: &str = "aot";

/// Identifies an engine with its settings, a component, and the version of the format.
#[derive(Clone, Copy)]
pub(super) struct CacheKey(Hash);

impl CacheKey {
    /// `fingerprint` is that of the engine.
    pub(super) fn new(fingerprint: u64, component: &[u8]) -> Self {
        // Not SHA-256, for which not every processor has instructions: a start hashes every component, and every
        // artifact.
        let mut hasher = Hasher::new();
        hasher
            .update(FORMAT)
            .update(&fingerprint.to_le_bytes())
            .update(component);
        Self(hasher.finalize())
    }

    pub(super) fn file_name(&self) -> String {
        format!("{}.{EXTENSION}", self.0)
    }
}

/// The secret that authenticates entries.
#[derive(Clone)]
pub(super) struct Secret([u8; 32]);

impl Secret {
    pub(super) fn new(secret: [u8; 32]) -> Self {
        Self(secret)
    }

    /// The authentication code of an entry, which its file begins with.
    pub(super) fn code(&self, key: &CacheKey, artifact: &[u8]) -> Hash {
        let mut hasher = Hasher::new_keyed(&self.0);
        hasher.update(key.0.as_bytes()).update(artifact).finalize()
    }

    /// The offset of the artifact in a file that is whole, has this key, and was written with this secret; `None` for
    /// another file.
    pub(super) fn check(&self, key: &CacheKey, file: &[u8]) -> Option<usize> {
        let (code, artifact) = file.split_first_chunk::<{ blake3::OUT_LEN }>()?;
        // Hashes are compared in constant time.
        (self.code(key, artifact) == *code).then_some(code.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: [u8; 32] = [7; 32];

    fn written(key: &CacheKey, artifact: &[u8]) -> Vec<u8> {
        let code = Secret::new(SECRET).code(key, artifact);
        [code.as_bytes(), artifact].concat()
    }

    #[test]
    fn every_flipped_bit_is_noticed() {
        let key = CacheKey::new(1, b"component");
        let mut file = written(&key, b"artifact");
        let start = Secret::new(SECRET).check(&key, &file).expect("it is whole");
        assert_eq!(&file[start..], b"artifact");
        for bit in 0..file.len() * 8 {
            file[bit / 8] ^= 1 << (bit % 8);
            assert!(Secret::new(SECRET).check(&key, &file).is_none(), "bit {bit}");
            file[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn every_truncation_and_every_extension_is_noticed() {
        let key = CacheKey::new(1, b"component");
        let mut file = written(&key, b"artifact");
        for length in 0..file.len() {
            assert!(Secret::new(SECRET).check(&key, &file[..length]).is_none(), "{length}");
        }
        file.push(0);
        assert!(Secret::new(SECRET).check(&key, &file).is_none());
    }

    #[test]
    fn an_entry_of_another_secret_component_or_engine_is_not_used() {
        let key = CacheKey::new(1, b"component");
        let file = written(&key, b"artifact");
        assert!(Secret::new([8; 32]).check(&key, &file).is_none());
        for other in [CacheKey::new(1, b"another"), CacheKey::new(2, b"component")] {
            assert!(Secret::new(SECRET).check(&other, &file).is_none());
            assert_ne!(other.file_name(), key.file_name());
        }
    }
}
