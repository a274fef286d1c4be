//! The program that compiles: this one.

use std::path::Path;

use pointwork::Worker;

/// The hidden subcommand of this program that compiles a component.
pub(crate) const COMPILE_WORKER: &str = "compile-worker";

/// This program as a compiler. Without it components are compiled in this process, where only time has a limit.
pub(crate) fn worker() -> Option<Worker> {
    // On Linux this is the running program, even if its file was replaced.
    let linked = Path::new("/proc/self/exe");
    let program = if linked.exists() {
        Ok(linked.to_owned())
    } else {
        std::env::current_exe()
    };
    match program {
        Ok(program) => Some(Worker::new(program).argument(COMPILE_WORKER)),
        Err(error) => {
            tracing::warn!("the running program cannot be found: {error}; components are compiled in its process");
            None
        }
    }
}
