//! The grammar of path patterns: one for the host's routing, for the attributes of the Rust SDK, and for its tests without a
//! host. So what compiles in a guest is what the host accepts, and both find the same conflicts.
//!
//! The crate has no dependencies: the attributes are compiled in every guest.

#![forbid(unsafe_code)]

mod error;
mod parse;
mod pattern;
pub mod text;

pub use error::{PatternError, PatternErrorKind};
pub use pattern::{Pattern, Segment};

#[cfg(test)]
mod tests;
