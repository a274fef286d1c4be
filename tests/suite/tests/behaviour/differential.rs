//! Random tables and requests: all adapters answer alike, and as the core does.
//!
//! One run has a fixed seed, the other a random one that it prints. `POINTWORK_FUZZ_SEED` sets the seed of the second
//! run, and a failure prints the seed that repeats it directly. `POINTWORK_FUZZ_CASES` sets the number of requests,
//! `POINTWORK_FUZZ_ADAPTERS=hyper,axum` selects the adapters.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use pointwork_suite::adapters::{self, OnAdapter};
use pointwork_suite::broken;
use pointwork_suite::fuzz::{Disagreement, Field, Plan, Request, regressions, run};
use pointwork_suite::subject::Subject;

use crate::trials;

trials! {
    a_request_that_is_shown_can_be_read_back,
    chunks_of_a_request_are_put_together,
    random_requests_are_answered_as_the_core_says_and_the_same_everywhere,
    requests_that_no_run_had_before_are_answered_so_too,
    what_once_differed_does_so_no_more,
    faults_are_found,
}

fn chosen() -> Result<Vec<OnAdapter>> {
    let mut subjects = adapters::subjects();
    if let Ok(names) = std::env::var("POINTWORK_FUZZ_ADAPTERS") {
        let names: Vec<_> = names.split(',').collect();
        subjects.retain(|subject| names.contains(&subject.name()));
        ensure!(
            subjects.len() == names.len(),
            "POINTWORK_FUZZ_ADAPTERS names an adapter that there is not"
        );
    }
    Ok(subjects)
}

async fn compare(plan: Plan) -> Result<()> {
    let subjects = chosen()?;
    let subjects: Vec<_> = subjects.iter().map(|subject| subject as &dyn Subject).collect();
    run(&subjects, plan).await
}

async fn random_requests_are_answered_as_the_core_says_and_the_same_everywhere() -> Result<()> {
    compare(Plan::fixed(3000)?).await
}

#[allow(clippy::print_stdout, reason = "the seed makes a run again")]
async fn requests_that_no_run_had_before_are_answered_so_too() -> Result<()> {
    let plan = Plan::fresh(3000)?;
    println!("{} requests with POINTWORK_FUZZ_SEED={}", plan.cases, plan.seed);
    compare(plan).await
}

async fn what_once_differed_does_so_no_more() -> Result<()> {
    let subjects = adapters::subjects();
    let subjects: Vec<_> = subjects.iter().map(|subject| subject as &dyn Subject).collect();
    for regression in regressions()? {
        let field = Field::open(&subjects, &regression.table).await?;
        let told = || format!("{}: {}", regression.why, regression.request);
        field.check(&regression.request).await.with_context(told)?;
        field.close().await;
    }
    Ok(())
}

/// The faults that random requests have to find without help.
async fn faults_are_found() -> Result<()> {
    for name in [
        "drops_the_query",
        "decodes_the_path",
        "merges_slashes",
        "raises_the_method",
    ] {
        let broken = broken::ALL.iter().find(|broken| broken.name == name);
        let broken = broken.with_context(|| format!("no broken subject is named `{name}`"))?;
        let adapter = adapters::hyper();
        let subject = broken.subject(Arc::new(adapter), |wrap| Arc::new(adapter.wrapped(wrap)));
        let found = run(&[&*subject], Plan::fixed(2000)?).await;
        let found = found.err().and_then(|error| error.downcast::<Disagreement>().ok());
        ensure!(found.is_some(), "nothing shows that it {name}");
    }
    Ok(())
}

async fn a_request_that_is_shown_can_be_read_back() -> Result<()> {
    let request = Request {
        old: true,
        rest: b"\x00'\"\\\xff".to_vec(),
        ..Request::new("x-own!", b"/a b?\xc3\xa9\t".as_slice()).header("x", b"\xe9 \\".as_slice())
    };
    ensure!(Request::from_escaped(&request.to_string())? == request, "{request}");
    Ok(())
}

async fn chunks_of_a_request_are_put_together() -> Result<()> {
    let request = Request {
        rest: b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n".to_vec(),
        ..Request::new("POST", "/").header("transfer-encoding", "chunked")
    };
    ensure!(request.body().as_deref() == Some(b"abc"), "{:?}", request.body());
    Ok(())
}
