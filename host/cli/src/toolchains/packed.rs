//! The SDKs that `build.rs` has packed.

/// The files of each SDK: paths and texts.
pub(super) struct Packed {
    pub(super) rust: &'static [(&'static str, &'static str)],
    pub(super) js: &'static [(&'static str, &'static str)],
    pub(super) python: &'static [(&'static str, &'static str)],
}

pub(super) const PACKED: Packed = include!(concat!(env!("OUT_DIR"), "/sdk.rs"));
