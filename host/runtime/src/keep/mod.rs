//! What outlives the process: compiled components, and which version of each module is current.

mod cache;
mod state;

pub use self::cache::CacheDirectory;
pub use self::state::{StateDirectory, Version};
