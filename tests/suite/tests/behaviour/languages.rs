//! Every case that has a guest in a form of a language, with that guest in the language. `<language>.toml` declares the cases that
//! fail; each of them runs, and one that passes is an error. `<language>.txt` lists the cases that have such a guest.

use std::sync::Arc;

use anyhow::Result;
use pointwork_core::BoxFuture;
use pointwork_suite::adapters::{self, OnAdapter};
use pointwork_suite::case::Case;
use pointwork_suite::cases;
use pointwork_suite::fixtures::Fixtures;
use pointwork_suite::languages::{Declared, Language, Listing};
use pointwork_suite::subject::{AppSpec, Control, Refusal, Subject};
use pointwork_test_runner::{Failed, Trial};

use crate::{IS_TO_FAIL, run, trial};

pub(crate) fn all(fixtures: &Fixtures) -> Vec<Trial> {
    let mut trials = Vec::new();
    for language in Language::ALL {
        let folder = language.folder();
        trials.push(trial(format!("{folder}::each_case_is_listed"), move || async move {
            Declared::load(language).check(&cases::all())?;
            match writes() {
                true => Ok(()),
                false => Listing::load(language)?.check(&cases::all()),
            }
        }));
        let listing = Listing::load(language).ok();
        for case in cases::all() {
            let listed = listing.as_ref().and_then(|listing| listing.has_guest(case.name));
            if writes() || listed == Some(true) {
                let fixtures = fixtures.clone();
                let name = format!("{folder}::{}", case.name);
                trials.push(Trial::test(name, move || is_as_declared(language, case, fixtures)));
            }
        }
    }
    trials
}

/// Whether this run writes the list of the cases again.
fn writes() -> bool {
    std::env::var_os("POINTWORK_WRITE_CASES").is_some()
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
    IS_TO_FAIL.set(declared.reason(case.name).is_some());
    let subject = Arc::new(InLanguage(language, adapters::axum()));
    let (outcome, has_guest) = language.speaking(|| run(case, subject, fixtures));
    IS_TO_FAIL.set(false);
    if writes() {
        let recorded = Listing::record(language, case.name, has_guest, &cases::all());
        recorded.map_err(|error| format!("{error:#}"))?;
    } else if !has_guest {
        return Err(format!("it has no guest in {}, and the list says that it has", language.name()).into());
    }
    declared.judge(case.name, outcome).map_err(Failed::from)
}
