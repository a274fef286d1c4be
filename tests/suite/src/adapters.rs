//! The adapters that the suite runs on.

/// Their names, in the order of the golden table.
pub const ADAPTERS: &[&str] = &["hyper"];
