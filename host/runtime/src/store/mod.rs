//! Directories that outlive the process: the cache of compiled components, and the state of the application.

pub(crate) mod cache;
mod files;
mod state;

pub use self::cache::CacheDirectory;
pub(crate) use self::cache::{CacheEntry, CachedArtifact};
pub(crate) use self::state::{KeptRoute, PinnedComponent, VersionCalls};
pub use self::state::{RecordedVersions, StateDirectory};
