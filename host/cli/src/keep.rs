//! What outlives a command: the state directory, compiled components; and the program that compiles.

use std::path::{Path, PathBuf};

use pointwork::{AppOptions, CacheDirectory, StateDirectory, Worker};

use crate::cli::COMPILE_WORKER;
use crate::config::Config;
use crate::error::{Error, Result};

/// Puts into the options what every command has: the cache of compiled components, and the program that compiles.
///
/// # Errors
///
/// The cache that the configuration names cannot be used. The usual one, which nobody asked for, is done without.
pub(crate) fn compiling(options: &mut AppOptions, config: &Config) -> Result<()> {
    options.compile.worker = worker();
    options.cache = match (config.cache.enabled, &config.cache.directory) {
        (false, _) => None,
        (true, Some(directory)) => Some(open_cache(directory)?),
        (true, None) => usual_cache(config.state.as_deref()).and_then(|directory| {
            open_cache(&directory)
                .inspect_err(|error| tracing::warn!("components are compiled at every start: {}", error.in_one_line()))
                .ok()
        }),
    };
    Ok(())
}

/// Opens the state directory of a configuration that has one.
///
/// # Errors
///
/// It cannot be used, or another process does.
pub(crate) fn state(config: &Config) -> Result<Option<StateDirectory>> {
    let open = |directory: &PathBuf| StateDirectory::open(directory).map_err(Error::from);
    config.state.as_ref().map(open).transpose()
}

fn open_cache(directory: &Path) -> Result<CacheDirectory> {
    CacheDirectory::open(directory).map_err(Error::from)
}

/// Where the cache is if nobody says: in the state directory if there is one, otherwise where the user's caches are.
fn usual_cache(state: Option<&Path>) -> Option<PathBuf> {
    match state {
        // Commands that only look do not make it: a look changes nothing.
        Some(state) => state.is_dir().then(|| state.join("cache")),
        None => cache_home(
            std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from),
            std::env::home_dir(),
        )
        .map(|home| home.join("pointwork")),
    }
}

/// The place of a user's caches by the XDG base directory specification, which passes over relative paths.
fn cache_home(named: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    named
        .filter(|path| path.is_absolute())
        .or_else(|| Some(home.filter(|home| home.is_absolute())?.join(".cache")))
}

/// This program, as a compiler. Without it components are compiled within the process, where only time can be bounded.
fn worker() -> Option<Worker> {
    // On Linux this is the very program that runs, also when its file was replaced since.
    let linked = Path::new("/proc/self/exe");
    let program = if linked.exists() {
        Ok(linked.to_owned())
    } else {
        std::env::current_exe()
    };
    match program {
        Ok(program) => Some(Worker::new(program).argument(COMPILE_WORKER)),
        Err(error) => {
            tracing::warn!("the program that runs cannot be found: {error}; components are compiled within it");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_is_where_the_environment_says_or_in_the_home() {
        let home = || Some(PathBuf::from("/u"));
        assert_eq!(cache_home(Some("/c".into()), home()), Some("/c".into()));
        assert_eq!(cache_home(Some("c".into()), home()), Some("/u/.cache".into()));
        assert_eq!(cache_home(None, home()), Some("/u/.cache".into()));
        assert_eq!(cache_home(None, None), None);
    }

    #[test]
    fn cache_stands_in_the_state_directory_once_that_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(usual_cache(Some(folder.path())), Some(folder.path().join("cache")));
        assert_eq!(usual_cache(Some(&folder.path().join("none"))), None);
    }
}
