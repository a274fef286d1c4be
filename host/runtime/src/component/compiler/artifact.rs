//! Compiled code from trusted sources.

use std::hash::{Hash, Hasher};

use bytes::Bytes;
use sha2::{Digest, Sha256};
use wasmtime::component::Component;
use wasmtime::{Engine, Result};

use super::protocol::WorkerCode;
use crate::component::settings::CodeSettings;
use crate::store::CachedArtifact;

/// Compiled code that this host made. Its field is private: only the constructors of this file make one.
pub(super) struct Artifact(Bytes);

impl Artifact {
    /// Compiles in this process.
    pub(super) fn compile(settings: CodeSettings, component: &[u8]) -> Result<Self> {
        // The threads of a parallel compilation would have the normal priority.
        let code = compiling_engine(settings, false)?.precompile_component(component)?;
        Ok(Self(code.into()))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Loads it into an engine.
    ///
    /// # Errors
    /// If it is for another engine.
    pub(super) fn load(&self, engine: &Engine) -> Result<Component> {
        // SAFETY: the bytes must have been written by wasmtime. They are in memory, where nothing changes them. They come
        // from wasmtime in this process; or from wasmtime in a child process, over a pipe that no other process has; or from
        // a file of the cache. Such a file is authenticated with a secret that only hosts of this user can read, and they
        // write only artifacts.
        unsafe { Component::deserialize(engine, &self.0) }
    }
}

impl From<WorkerCode> for Artifact {
    fn from(code: WorkerCode) -> Self {
        Self(code.into_bytes().into())
    }
}

impl From<CachedArtifact> for Artifact {
    fn from(cached: CachedArtifact) -> Self {
        Self(cached.into_bytes())
    }
}

/// An engine that only compiles. It has no pool, on which compiled code does not depend, so that it is made quickly.
pub(super) fn compiling_engine(settings: CodeSettings, parallel: bool) -> Result<Engine> {
    let mut config = settings.config();
    config.parallel_compilation(parallel);
    Engine::new(&config)
}

/// Identifies what compiled code depends on in an engine: its target, the compiler's settings and the version of wasmtime.
pub(super) fn fingerprint(engine: &Engine) -> [u8; 32] {
    let mut hasher = Sha256Hasher(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.0.finalize().into()
}

/// A [`Hasher`] without collisions.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let digest = self.0.clone().finalize();
        digest
            .iter()
            .take(8)
            .fold(0, |value, &byte| value << 8 | u64::from(byte))
    }
}
