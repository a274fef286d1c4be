//! Every case where [`Matrix`] selects it, every broken subject with the case that has to detect it, every
//! declared difference, and the tests of the suite itself.
//!
//! ```text
//! POINTWORK_ALL=1 cargo test --workspace --test behaviour     the full matrix
//! cargo test --workspace --test behaviour -- --rows           prints each row of `tests/spec.md` with its tests
//! ```

mod allocations;
mod coverage;
mod differences;
mod differential;
mod guests;
mod in_process;
mod judge;
mod languages;
mod mounting;
#[cfg(target_os = "linux")]
mod ptrace;
#[cfg(target_os = "linux")]
mod system_calls;
mod without_tokio;

use std::future::Future;
use std::process::ExitCode;
use std::sync::Arc;

use pointwork_suite::adapters::{self, OnAdapter};
use pointwork_suite::broken::{self, Broken};
use pointwork_suite::case::Case;
use pointwork_suite::cases;
use pointwork_suite::differences::Probe;
use pointwork_suite::fixtures::{Fixture, Fixtures};
use pointwork_suite::languages::Language;
use pointwork_suite::matrix::Matrix;
use pointwork_suite::rows::Rows;
use pointwork_suite::subject::Subject;
use pointwork_test_clock::real::{in_vain, is_in_vain};
use pointwork_test_runner::{Failed, Trial};
use pointwork_wire_tests::differences::Differences;

fn main() -> ExitCode {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !is_in_vain() {
            print(panic);
        }
    }));
    #[cfg(target_os = "linux")]
    if let Some(ended) = system_calls::traced() {
        return ended;
    }
    if std::env::args().any(|argument| argument == "--rows") {
        return print_rows();
    }
    let matrix = Matrix::selected();
    let fixtures = Fixtures::new(env!("CARGO_TARGET_TMPDIR"));
    let mut trials = Vec::new();
    for adapter in adapters::subjects() {
        let on = adapter.name();
        for case in cases::all() {
            if matrix.has_adapter(&case, on) {
                let fixtures = fixtures.clone();
                // The quick ring selects the cases on hyper, and works without Node.
                let needs_node = case.fixtures.contains(&Fixture::Js);
                let group = if needs_node { "javascript::" } else { "" };
                let name = format!("{group}{on}::{}", case.name);
                trials.push(Trial::test(name, move || is_as_declared(case, adapter, fixtures)));
            }
        }
        for probe in Probe::all(on) {
            let name = format!("{on}::differences::{}", probe.name());
            trials.push(trial(name, move || async move { probe.run(&adapter).await }));
        }
    }
    for broken in broken::ALL {
        let fixtures = fixtures.clone();
        let name = format!("broken::{}", broken.name);
        trials.push(Trial::test(name, move || {
            is_caught(broken, adapters::hyper(), fixtures)
        }));
    }
    for file in [
        allocations::all(),
        coverage::all(),
        differences::all(),
        differential::all(),
        guests::all(),
        in_process::all(),
        judge::all(),
        mounting::all(),
        #[cfg(target_os = "linux")]
        system_calls::all(),
        without_tokio::all(),
    ] {
        trials.extend(file);
    }
    trials.extend(languages::all(matrix, &fixtures));
    trials.extend(builds(&fixtures));
    pointwork_test_runner::run(trials)
}

/// The builds of all guests. The lane `build` runs them first, so that no case runs beside a compiler.
fn builds(fixtures: &Fixtures) -> Vec<Trial> {
    let fixture = |fixture: Fixture| {
        let fixtures = fixtures.clone();
        let build = move || async move { fixtures.build(fixture).await.map(drop) };
        trial(format!("builds::{}", fixture.folder()), build)
    };
    let modules = |language: Language| {
        let build = move || async move {
            language.build_modules();
            Ok(())
        };
        trial(format!("builds::modules_in_{}", language.folder()), build)
    };
    let languages = [Language::Rust].into_iter().chain(Language::ALL);
    Fixture::ALL
        .into_iter()
        .map(fixture)
        .chain(languages.map(modules))
        .collect()
}

/// Prints the rows of the specification, each with its tests.
#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the command line asks for the table"
)]
fn print_rows() -> ExitCode {
    match Rows::load().and_then(|rows| rows.table(&cases::all())) {
        Ok(table) => {
            print!("{table}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Defines the function `all`, which returns the tests of a file: asynchronous functions that return a result.
macro_rules! trials {
    ($($name:ident),+ $(,)?) => {
        pub(crate) fn all() -> Vec<pointwork_test_runner::Trial> {
            let file = module_path!().rsplit("::").next().unwrap_or_default();
            vec![$($crate::trial(format!("{file}::{}", stringify!($name)), $name)),+]
        }
    };
}
pub(crate) use trials;

/// A test as a future.
fn trial<F, Fut>(name: String, run: F) -> Trial
where
    F: FnOnce() -> Fut + Send + 'static,
    Fut: Future<Output = anyhow::Result<()>>,
{
    Trial::test(name, move || block_on(run()).map_err(Failed::from))
}

fn is_as_declared(case: Case, adapter: OnAdapter, fixtures: Fixtures) -> Result<(), Failed> {
    let run = || run(case, Arc::new(adapter), fixtures);
    let verdict = Differences::declared().judge(adapter.name(), case.name, run);
    verdict.map_err(Failed::from)
}

fn run(case: Case, subject: Arc<dyn Subject>, fixtures: Fixtures) -> Result<(), String> {
    block_on(case.run(subject, fixtures))
}

fn block_on(verdict: impl Future<Output = anyhow::Result<()>>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(verdict).map_err(|error| format!("{error:#}"))
}

fn is_caught(broken: &'static Broken, adapter: OnAdapter, fixtures: Fixtures) -> Result<(), Failed> {
    let subject = broken.subject(Arc::new(adapter), |wrap| Arc::new(adapter.wrapped(wrap)));
    let Broken {
        name,
        caught_by,
        told_as,
        ..
    } = *broken;
    match in_vain(|| run(cases::named(caught_by), subject, fixtures)) {
        Ok(()) => Err(format!("`{caught_by}` passes on a subject that {name}").into()),
        Err(failure) if failure.contains(told_as) => Ok(()),
        Err(failure) => {
            // Some failures list hundreds of exchanges.
            let failure: String = failure.chars().take(2000).collect();
            Err(format!("`{caught_by}` fails on a subject that {name}, expected `{told_as}`, got: {failure}").into())
        }
    }
}
