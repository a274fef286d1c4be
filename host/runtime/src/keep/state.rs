//! Which version of each module is current.

use std::path::Path;

use crate::Error;

/// The directory that says which version of each module is current.
#[derive(Clone, Debug)]
pub struct StateDirectory;

/// What the state directory says of one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Version {
    /// SHA-256 of the version that is current, in hex; `None` if the module was removed.
    pub current: Option<String>,
    /// SHA-256 of the version that a roll-back leads to.
    pub previous: Option<String>,
    /// SHA-256 of what the application was told to load when it began: once that is another, it takes the place of
    /// what is current.
    pub base: Option<String>,
}

impl StateDirectory {
    /// Opens the directory, and makes it if it is not there; no other process may have it open.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State).
    pub fn open(_path: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self)
    }

    /// Every module that it has something about, by name.
    pub fn names(&self) -> Vec<String> {
        Vec::new()
    }

    /// What it says of a module.
    pub fn version(&self, _module: &str) -> Option<Version> {
        None
    }

    /// The component of that digest.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State).
    pub(crate) fn component(&self, _digest: &str) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }

    /// Keeps a component, under its digest in hex. It is on the disk when this returns. Blocks.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State).
    pub(crate) fn keep(&self, _digest: &str, _component: &[u8]) -> Result<(), Error> {
        Ok(())
    }

    /// Makes what is said of a module true, on the disk, whole or not at all; and forgets components that no module
    /// has any more. Blocks.
    ///
    /// # Errors
    /// [`State`](crate::ErrorKind::State).
    pub(crate) fn commit(&self, _module: &str, _version: Version) -> Result<(), Error> {
        Ok(())
    }
}
