//! Cases with a guest in TypeScript or Python, as [`Matrix`] selects them. `<language>.toml` declares the cases that fail; each of
//! these cases runs, and a declared case that passes is an error.

use std::sync::Arc;

use anyhow::Result;
use pointwork_core::BoxFuture;
use pointwork_suite::adapters::{self, OnAdapter};
use pointwork_suite::case::Case;
use pointwork_suite::cases;
use pointwork_suite::fixtures::Fixtures;
use pointwork_suite::languages::{Declared, Language};
use pointwork_suite::matrix::Matrix;
use pointwork_suite::subject::{AppSpec, Control, Refusal, Subject};
use pointwork_test_runner::{Failed, Trial};

use crate::{run, trial};

pub(crate) fn all(matrix: Matrix, fixtures: &Fixtures) -> Vec<Trial> {
    let mut trials = Vec::new();
    for language in Language::ALL {
        let folder = language.folder();
        let name = format!("{folder}::every_declared_difference_names_a_case");
        trials.push(trial(name, move || async move {
            Declared::load(language).check(&cases::all())
        }));
        for case in cases::all() {
            if matrix.has_language(&case, language) {
                let fixtures = fixtures.clone();
                let name = format!("{folder}::{}", case.name);
                trials.push(Trial::test(name, move || is_as_declared(language, case, fixtures)));
            }
        }
    }
    trials
}

/// An adapter whose application has guests in a language.
struct InLanguage(Language, OnAdapter);

impl Subject for InLanguage {
    fn name(&self) -> &'static str {
        self.0.folder()
    }

    fn adapter(&self) -> &'static str {
        self.1.name()
    }

    fn start(&self, app: AppSpec) -> BoxFuture<'_, Result<Box<dyn Control>, Refusal>> {
        self.1.start(app)
    }
}

fn is_as_declared(language: Language, case: Case, fixtures: Fixtures) -> Result<(), Failed> {
    let declared = Declared::load(language);
    let subject = Arc::new(InLanguage(language, adapters::axum()));
    let run = || run(case, subject, fixtures);
    let (verdict, has_guest) = language.speaking(|| declared.judge(case.name, run));
    if !has_guest {
        let language = language.name();
        return Err(format!("the case built no guest in {language}: declare it as `without guest`").into());
    }
    verdict.map_err(Failed::from)
}
