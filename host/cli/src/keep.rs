//! The state directory, the cache of compiled components, and the program that compiles.

use std::path::{Path, PathBuf};

use pointwork::{AppOptions, CacheDirectory, StateDirectory, Worker};

use crate::config::Config;
use crate::error::{Error, Result};

/// The hidden subcommand of this program that compiles a component.
pub(crate) const COMPILE_WORKER: &str = "compile-worker";

/// Sets the cache of compiled components and the program that compiles.
///
/// # Errors
///
/// The cache directory of the configuration cannot be used. A default directory that cannot be used is a warning.
pub(crate) fn compiling(options: &mut AppOptions, config: &Config) -> Result<()> {
    options.compile.worker = worker();
    options.cache = match (config.cache.enabled, &config.cache.directory) {
        (false, _) => None,
        (true, Some(directory)) => Some(CacheDirectory::open(directory)?),
        (true, None) => default_cache(config.state.as_deref()).and_then(|directory| {
            CacheDirectory::open(&directory)
                .map_err(Error::from)
                .inspect_err(|error| tracing::warn!("components are compiled at every start: {}", error.in_one_line()))
                .ok()
        }),
    };
    Ok(())
}

/// Opens the state directory, if the configuration has one.
pub(crate) fn state(config: &Config) -> Result<Option<StateDirectory>> {
    let open = |directory: &PathBuf| StateDirectory::open(directory).map_err(Error::from);
    config.state.as_ref().map(open).transpose()
}

/// The default cache directory: in the state directory if there is one, otherwise in the user's cache directory.
fn default_cache(state: Option<&Path>) -> Option<PathBuf> {
    match state {
        // A command that only reads does not create it.
        Some(state) => state.is_dir().then(|| state.join("cache")),
        None => cache_home(
            std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from),
            std::env::home_dir(),
        )
        .map(|home| home.join("pointwork")),
    }
}

/// The user's cache directory by the XDG base directory specification, which ignores relative paths.
fn cache_home(named: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    named
        .filter(|path| path.is_absolute())
        .or_else(|| Some(home.filter(|home| home.is_absolute())?.join(".cache")))
}

/// This program as a compiler. Without it components are compiled in this process, where only time has a limit.
fn worker() -> Option<Worker> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_directory_comes_from_the_environment_or_the_home() {
        let home = || Some(PathBuf::from("/u"));
        assert_eq!(cache_home(Some("/c".into()), home()), Some("/c".into()));
        assert_eq!(cache_home(Some("c".into()), home()), Some("/u/.cache".into()));
        assert_eq!(cache_home(None, home()), Some("/u/.cache".into()));
        assert_eq!(cache_home(None, None), None);
    }

    #[test]
    fn cache_is_in_the_state_directory_once_that_exists() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(default_cache(Some(folder.path())), Some(folder.path().join("cache")));
        assert_eq!(default_cache(Some(&folder.path().join("none"))), None);
    }
}
