//! The state directory, and the cache of compiled components.

use std::path::{Path, PathBuf};

use pointwork::{CacheDirectory, StateDirectory};

use crate::file::Config;

impl Config {
    /// Opens the cache of compiled components, for [`AppOptions::cache`](field@pointwork::AppOptions::cache); `None` without
    /// one. It blocks.
    ///
    /// # Errors
    ///
    /// The directory of the configuration cannot be used. A default directory that cannot be used is a warning in the log.
    pub fn open_cache(&self) -> Result<Option<CacheDirectory>, pointwork::Error> {
        let directory = match (self.cache.enabled, &self.cache.directory) {
            (false, _) => None,
            (true, Some(directory)) => Some(CacheDirectory::open(directory)?),
            (true, None) => default_cache(self.state.as_deref()).and_then(|directory| {
                CacheDirectory::open(&directory)
                    .inspect_err(|error| {
                        let error = pointwork_core::error_chain(error);
                        tracing::warn!("components are compiled at every start: {error}");
                    })
                    .ok()
            }),
        };
        Ok(directory)
    }

    /// Opens the state directory, for [`AppOptions::state`](field@pointwork::AppOptions::state); `None` if the configuration
    /// has none. It blocks.
    ///
    /// # Errors
    ///
    /// The directory cannot be created or used, or another process uses it.
    pub fn open_state(&self) -> Result<Option<StateDirectory>, pointwork::Error> {
        self.state.as_ref().map(StateDirectory::open).transpose()
    }
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
