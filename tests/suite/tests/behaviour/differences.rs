//! Declared differences are allowed, and no others: an adapter that runs under another adapter's name proves it.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use pointwork_core::BoxFuture;
use pointwork_suite::adapters::{self, OnAdapter};
use pointwork_suite::cases;
use pointwork_suite::differences::Probe;
use pointwork_suite::fixtures::Fixtures;
use pointwork_suite::fuzz::{Disagreement, Plan, run};
use pointwork_suite::subject::{AppSpec, Control, Refusal, Subject};
use pointwork_wire_tests::differences::Differences;

use crate::trials;

trials! {
    a_difference_that_is_gone_is_a_failure,
    a_case_that_is_to_fail_must_fail_as_declared,
    an_undeclared_difference_is_a_failure,
}

/// An adapter under the name of another.
struct Renamed(OnAdapter, &'static str);

impl Subject for Renamed {
    fn name(&self) -> &'static str {
        self.1
    }

    fn start(&self, app: AppSpec) -> BoxFuture<'_, Result<Box<dyn Control>, Refusal>> {
        self.0.start(app)
    }
}

async fn a_difference_that_is_gone_is_a_failure() -> Result<()> {
    let probes = Probe::all("trillium");
    ensure!(!probes.is_empty(), "nothing is declared of trillium");
    for probe in probes {
        let verdict = probe.run(&Renamed(adapters::hyper(), "trillium")).await;
        ensure!(verdict.is_err(), "{} on hyper is reported as seen", probe.name());
    }
    Ok(())
}

async fn a_case_that_is_to_fail_must_fail_as_declared() -> Result<()> {
    let declared = Differences::declared();
    let difference = declared.differences.first().context("nothing is declared")?;
    let judge = |outcome| declared.judge(&difference.adapter, &difference.cases[0], || outcome);
    ensure!(judge(Ok(())).is_err(), "a pass is let through");
    ensure!(
        judge(Err("something else".to_owned())).is_err(),
        "another failure is let through"
    );
    ensure!(
        judge(Err(difference.instead.clone())).is_ok(),
        "the declared failure is none"
    );
    let elsewhere = declared.judge("hyper", &difference.cases[0], || Err(difference.instead.clone()));
    ensure!(elsewhere.is_err(), "the failure is let through on another adapter");
    Ok(())
}

/// A declared difference of one adapter is a failure on any other.
async fn an_undeclared_difference_is_a_failure() -> Result<()> {
    let mut subjects = adapters::subjects().into_iter();
    let trillium = subjects.find(|subject| subject.name() == "trillium");
    let undeclared = Arc::new(Renamed(trillium.context("there is no trillium")?, "salvo"));
    let fixtures = Fixtures::new(env!("CARGO_TARGET_TMPDIR"));
    let verdict = cases::named("any_token_is_a_method")
        .run(undeclared.clone(), fixtures)
        .await;
    ensure!(verdict.is_err(), "a case takes it");
    let verdict = run(&[&adapters::hyper(), &*undeclared], Plan { seed: 11, cases: 1000 }).await;
    let found = verdict.err().and_then(|error| error.downcast::<Disagreement>().ok());
    ensure!(found.is_some(), "random requests do not show it");
    Ok(())
}
