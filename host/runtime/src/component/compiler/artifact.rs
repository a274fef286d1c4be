//! Compiled code, from the places that are trusted.

use std::hash::{Hash, Hasher};

use sha2::{Digest, Sha256};
use wasmtime::component::Component;
use wasmtime::{Engine, Result};

use super::{CodeSettings, protocol};
use crate::component::engine;
use crate::store::Found;

/// Compiled code that this host made: its fields are private, so that it comes from nowhere but the constructors here.
pub(super) struct Artifact(Source);

enum Source {
    Made(Vec<u8>),
    Kept(Found),
}

impl Artifact {
    /// What this process compiled.
    pub(super) fn compile(settings: CodeSettings, component: &[u8]) -> Result<Self> {
        // The threads of a parallel compilation would have the normal priority.
        precompile(settings, component, false).map(|bytes| Self(Source::Made(bytes)))
    }

    /// What a child of this process compiled, out of the pipe that it was given.
    pub(super) fn of_worker(answer: protocol::Compiled) -> Self {
        Self(Source::Made(answer.into_bytes()))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        match &self.0 {
            Source::Made(bytes) => bytes,
            Source::Kept(found) => found.artifact(),
        }
    }

    /// Loads it into an engine.
    ///
    /// # Errors
    /// If it is for another engine.
    pub(super) fn load(&self, engine: &Engine) -> Result<Component> {
        // SAFETY: the bytes must be what wasmtime wrote. They are in memory, where nobody changes them, and come from
        // wasmtime in this process; from wasmtime in a child of it, over a pipe that nobody else has; or from a file of the
        // cache, which is authenticated with a secret that only hosts of this user have, who write nothing else there.
        unsafe { Component::deserialize(engine, self.bytes()) }
    }
}

impl From<Found> for Artifact {
    fn from(found: Found) -> Self {
        Self(Source::Kept(found))
    }
}

/// Compiles for an engine with these settings. How instances are allocated is not among them: compiled code does not
/// depend on it, and an engine without a pool is made in no time.
pub(super) fn precompile(settings: CodeSettings, component: &[u8], parallel: bool) -> Result<Vec<u8>> {
    compiling_engine(settings, parallel)?.precompile_component(component)
}

pub(super) fn compiling_engine(settings: CodeSettings, parallel: bool) -> Result<Engine> {
    let mut config = engine::config(settings.form, settings.stack);
    config.parallel_compilation(parallel);
    Engine::new(&config)
}

/// What compiled code depends on in an engine: its target, the settings of the compiler and the version of wasmtime.
pub(super) fn fingerprint(engine: &Engine) -> [u8; 32] {
    let mut digest = Digesting(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut digest);
    digest.0.finalize().into()
}

/// Everything that is hashed, in a digest that nobody finds a second text for.
struct Digesting(Sha256);

impl Hasher for Digesting {
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
