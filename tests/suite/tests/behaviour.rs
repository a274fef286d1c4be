//! Every case on every adapter, every broken subject on one of them against the case that has to catch it, and every
//! declared difference. A case that an adapter is not there for shows as ignored.

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use pointwork_suite::adapters::{self, OnAdapter};
use pointwork_suite::broken::{self, Broken};
use pointwork_suite::case::Case;
use pointwork_suite::cases;
use pointwork_suite::differences::Differences;
use pointwork_suite::fixtures::Fixtures;
use pointwork_suite::subject::Subject;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let fixtures = Fixtures::new(env!("CARGO_TARGET_TMPDIR"));
    let mut trials = Vec::new();
    for adapter in adapters::subjects() {
        for case in cases::all() {
            let (subject, fixtures) = (Arc::new(adapter), fixtures.clone());
            let name = format!("{}::{}", adapter.name(), case.name);
            let trial = Trial::test(name, move || run(case, subject, fixtures));
            trials.push(trial.with_ignored_flag(case.is_not_for(adapter.name()).is_some()));
        }
        for probe in Differences::declared().probes(adapter.name()) {
            let name = format!("{}::differences::{}", adapter.name(), probe.name());
            trials.push(Trial::test(name, move || block_on(probe.run(&adapter))));
        }
        if adapter.name() == broken::ADAPTER {
            for broken in broken::ALL {
                let fixtures = fixtures.clone();
                let name = format!("{}::broken::{}", adapter.name(), broken.name);
                trials.push(Trial::test(name, move || is_caught(broken, adapter, fixtures)));
            }
        }
    }
    assert!(!trials.is_empty(), "there is no subject to run the cases on");
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn run(case: Case, subject: Arc<dyn Subject>, fixtures: Fixtures) -> Result<(), Failed> {
    block_on(case.run(subject, fixtures))
}

fn block_on(verdict: impl Future<Output = anyhow::Result<()>>) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime
        .block_on(verdict)
        .map_err(|error| Failed::from(format!("{error:#}")))
}

fn is_caught(broken: &'static Broken, adapter: OnAdapter, fixtures: Fixtures) -> Result<(), Failed> {
    let subject = broken.subject(Arc::new(adapter), |wrap| Arc::new(adapter.wrapped(wrap)));
    let Broken {
        name,
        caught_by,
        told_as,
        ..
    } = *broken;
    let caught = match block_on(cases::named(caught_by).run(subject, fixtures)) {
        Ok(()) => return Err(format!("`{caught_by}` passes on a subject that {name}").into()),
        Err(failed) => failed,
    };
    let told = caught.message().unwrap_or_default();
    if told.contains(told_as) {
        return Ok(());
    }
    // Some failures list hundreds of exchanges.
    let told: String = told.chars().take(2000).collect();
    Err(format!("`{caught_by}` fails on a subject that {name}, but not with `{told_as}`; it says: {told}").into())
}
