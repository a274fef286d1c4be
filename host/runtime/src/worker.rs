//! The program that compiles components in a process of its own.

use std::ffi::OsString;
use std::path::PathBuf;

/// A program that compiles components: it runs [`compile_worker`](crate::compile_worker) and ends.
///
/// It is started once for each component. It must be of the same build as the application; usually it is the same
/// program with another argument. It is killed when its time is over, or when the load is cancelled.
///
/// # Examples
/// ```no_run
/// if std::env::args().nth(1).as_deref() == Some("compile-worker") {
///     return pointwork::compile_worker();
/// }
/// let program = std::env::current_exe().expect("the program has a path");
/// let worker = pointwork::Worker::new(program).argument("compile-worker");
/// let options = pointwork::AppOptions::new().compile(pointwork::CompileOptions::new().worker(worker));
/// let app = pointwork::App::with_options(options)?;
/// # Ok::<(), pointwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Worker {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl Worker {
    /// A program without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }
}
