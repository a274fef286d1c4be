//! Decides where a case runs.
//!
//! A case is written once. It could run on each of five adapters, with guests in three languages, and in programs of
//! three languages, but most of these runs would repeat each other: a memory limit or a drain does not depend on the
//! language of a guest. A case therefore declares the parts that it exercises, and the gate runs it where these parts differ:
//!
//! | run | in the gate | in the full matrix |
//! |---|---|---|
//! | hyper, guests in Rust | every case | every case |
//! | the other adapters | cases of `adapter` | the same |
//! | guests in TypeScript and Python, on axum | cases of `sdk` that have such a guest | every case that has such a guest |
//! | programs in C and Python, built-in server | selected cases, but not of `adapter` | every case, but not of `adapter` |
//! | the same, mounted in libmicrohttpd and uvicorn | selected cases of `adapter` | every case of `adapter` |
//!
//! A case that moves the clock of the application does not run in the programs in C and Python.
//!
//! The gate is what `cargo test` runs. `POINTWORK_ALL=1` selects the full matrix.

use crate::adapters;
use crate::case::{Case, Part};
use crate::languages::Language;
use crate::subject::Subject as _;

/// The set of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matrix {
    /// The runs that every change has to pass.
    Gate,
    /// Every run that is possible.
    Full,
}

impl Matrix {
    /// The matrix that the environment selects.
    pub fn selected() -> Self {
        match std::env::var_os("POINTWORK_ALL").is_some() {
            true => Self::Full,
            false => Self::Gate,
        }
    }

    /// Whether a case runs on an adapter, with guests in Rust.
    pub fn has_adapter(self, case: &Case, adapter: &str) -> bool {
        case.is_of(Part::Adapter) || adapter == adapters::hyper().name()
    }

    /// Whether a case runs with guests in a language.
    pub fn has_language(self, case: &Case, language: Language) -> bool {
        let is_selected = self == Self::Full || case.is_of(Part::Sdk);
        is_selected && language.has_guest(case)
    }

    /// Whether a case runs in a program of another language: mounted in a server of that language, or on the built-in server.
    pub fn has_host(self, case: &Case, is_mounted: bool) -> bool {
        let is_selected = self == Self::Full || case.is_in_hosts;
        is_selected && !case.moves_clock && case.is_of(Part::Adapter) == is_mounted
    }
}
