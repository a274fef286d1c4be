//! What outlives the process: compiled components, and which version of each module is current.

mod cache;
mod entry;
mod files;
mod private;
mod record;
mod state;

pub use self::cache::CacheDirectory;
pub(crate) use self::cache::Found;
pub(crate) use self::entry::Entry;
pub(crate) use self::state::Kept;
pub use self::state::{StateDirectory, Version};
