//! Compiling in a process of its own.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::Error;

/// A program that compiles components: it runs [`work`] and ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Worker {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// What the program of a [`Worker`] does.
///
/// # Errors
/// [`Compile`](crate::ErrorKind::Compile).
pub fn work() -> Result<(), Error> {
    Ok(())
}
