//! Which cases have a guest in a language.

use super::Language;
use crate::case::Case;
use crate::fixtures::Fixture;

impl Language {
    /// Whether a case has a guest in this language: a described guest, or the twin of a guest in `tests/guests`. A case
    /// that names guests in `tests/guests` describes no further guest that a language could replace.
    pub fn has_guest(self, case: &Case) -> bool {
        match case.fixtures {
            [] => case.has_guest,
            fixtures => fixtures.iter().any(|fixture| self.has_twin(*fixture)),
        }
    }

    fn has_twin(self, fixture: Fixture) -> bool {
        match fixture {
            Fixture::RustBasic | Fixture::RustChannels | Fixture::RustGuards => self.has(false),
            Fixture::RustAsync | Fixture::RustChannelsAsync | Fixture::RustGuardsAsync => self.has(true),
            Fixture::Js
            | Fixture::Kept
            | Fixture::RustStd
            | Fixture::RustStdAsync
            | Fixture::RustWasi
            | Fixture::Wat => false,
        }
    }
}
