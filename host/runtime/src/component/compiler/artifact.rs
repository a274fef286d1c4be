//! Compiled code from trusted sources.

use std::hash::{DefaultHasher, Hash, Hasher};

use bytes::Bytes;
use wasmtime::component::Component;
use wasmtime::{Engine, Result};

use crate::component::settings::CodeSettings;
use crate::store::CachedArtifact;

/// Compiled code that this host made. Its field is private: only the constructors of this file make one.
pub(super) struct Artifact(Bytes);

impl Artifact {
    pub(super) fn compile(settings: CodeSettings, component: &[u8]) -> Result<Self> {
        // The threads of a parallel compilation would have the normal priority.
        let code = compiling_engine(settings, false)?.precompile_component(component)?;
        Ok(Self(code.into()))
    }

    /// Code that a worker process sent.
    pub(super) fn of_worker(code: Vec<u8>) -> Self {
        Self(code.into())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// # Errors
    /// If it is for another engine.
    pub(super) fn load(&self, engine: &Engine) -> Result<Component> {
        // SAFETY: the bytes must have been written by wasmtime. They are in memory, where nothing changes them. They
        // come from wasmtime in this process; or from wasmtime in a child process, over a pipe that no other process
        // has; or from a file of the cache. Such a file is authenticated with a secret that only hosts of this user can
        // read, and they write only artifacts.
        unsafe { Component::deserialize(engine, &self.0) }
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

/// Identifies what compiled code depends on in an engine: its target, the compiler's settings and the version of
/// wasmtime. Wasmtime checks the same when it loads code.
pub(super) fn fingerprint(engine: &Engine) -> u64 {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    hasher.finish()
}
