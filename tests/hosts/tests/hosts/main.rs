//! The cases of the suite in programs of other languages. Cases of adapters run mounted in a server of that language, other cases run
//! on the built-in server.
//!
//! The gate runs the cases that their lists select by `in hosts`:
//!
//! - cases that use each step of the programs, and so each function of a binding that the programs use. [`calls`] checks this;
//! - cases of each row of embedding. [`rows`] checks this;
//! - every case that once failed, or is declared to differ, in one of these programs alone.
//!
//! ```text
//! cargo test --workspace --test hosts -- python::a_call_waits
//! POINTWORK_ALL=1 cargo test --workspace --test hosts              every case
//! ```
//!
//! `POINTWORK_LONG=1 cargo test --workspace --test hosts -- many` opens and closes 10,000 applications in each.
//!
//! `POINTWORK_HOSTS` narrows it to some languages, as in `POINTWORK_HOSTS=c`.

mod calls;
mod many;
mod mounting;
mod rows;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, LazyLock, Mutex};
use std::{env, fs};

use pointwork_hosts_tests::{Calls, Host, InHost, Place};
use pointwork_suite::case::Case;
use pointwork_suite::cases;
use pointwork_suite::fixtures::hosts::is_wanted;
use pointwork_suite::fixtures::{Fixtures, python};
use pointwork_suite::matrix::Matrix;
use pointwork_test_runner::{Failed, Trial};
use pointwork_wire_tests::differences::Differences;

fn work(folder: &str) -> PathBuf {
    let work = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&work).expect("a folder below the target folder");
    work
}

fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// The program of C, compiled against the library that cargo built beside these tests.
static C: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = work("hosts");
    let binding = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host/bindings/c");
    let library = env::current_exe().expect("a path").with_file_name("libpointwork_c.so");
    for name in ["libpointwork.so", "libpointwork.so.1"] {
        let link = folder.join(name);
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(&library, link).expect("linked");
    }
    fs::write(
        folder.join("count_calls.h"),
        calls::header_that_counts(&calls::functions_of_c()),
    )
    .expect("written");
    // The test that runs before keeps it.
    let (program, new) = (folder.join("host"), folder.join(format!("host.{}", std::process::id())));
    let output = Command::new("gcc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", "-g", "-o"])
        .args([&new, &programs().join("host.c")])
        .arg(format!("-I{}", folder.display()))
        .arg(format!("-I{}", binding.join("include").display()))
        .arg(format!("-I{}", binding.join("examples").display()))
        .arg("-L")
        .arg(&folder)
        .args(["-lpointwork", "-lmicrohttpd"])
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .output()
        .expect("gcc starts: install the package `gcc`");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{text}\nIf microhttpd.h is missing, install the package `libmicrohttpd-dev`."
    );
    fs::rename(new, &program).expect("renamed");
    program
});

/// A Python, and the folder of the package.
static PYTHON: LazyLock<(PathBuf, PathBuf)> = LazyLock::new(|| {
    let work = work("python");
    let (version, python) = python::pythons().remove(0);
    (
        python::environment(&work, &version, &python, "requirements.txt"),
        python::package(&work),
    )
});

fn c() -> Command {
    Command::new(&*C)
}

fn python() -> Command {
    let (python, site) = &*PYTHON;
    let mut command = Command::new(python);
    command
        .arg(programs().join("host.py"))
        .env("PYTHONPATH", site)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// A language of programs.
struct Language {
    /// The name of its subject on the built-in server.
    name: &'static str,
    /// The name of its subject in a server of the language.
    server: &'static str,
    /// The name that the application gives to a mount in that server.
    mount: &'static str,
    command: fn() -> Command,
    calls: Arc<Calls>,
}

impl Language {
    fn all() -> Vec<Self> {
        let language = |name, server, mount, command: fn() -> Command| Self {
            name,
            server,
            mount,
            command,
            calls: Arc::default(),
        };
        let all = vec![
            language("c", "microhttpd", "c", c),
            language("python", "uvicorn", "asgi", python),
        ];
        all.into_iter().filter(|language| is_wanted(language.name)).collect()
    }

    fn hosts(&self) -> [InHost; 2] {
        let host = |name, adapter, mounts| {
            let host = Host {
                name,
                adapter,
                mounts,
                command: self.command,
                idle: Mutex::default(),
                calls: self.calls.clone(),
            };
            InHost {
                host: Arc::new(host),
                place: Place::default(),
            }
        };
        [host(self.name, "hyper", false), host(self.server, self.mount, true)]
    }
}

fn block_on(verdict: impl Future<Output = anyhow::Result<()>>) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    runtime.block_on(verdict).map_err(|error| format!("{error:#}"))
}

fn is_as_declared(case: Case, host: InHost, fixtures: Fixtures) -> Result<(), Failed> {
    let (name, calls) = (host.host.name, host.host.calls.clone());
    let run = || block_on(case.run(Arc::new(host), fixtures));
    Differences::declared().judge(name, case.name, run)?;
    calls.pass_case();
    Ok(())
}

fn main() -> ExitCode {
    let fixtures = Fixtures::new(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let matrix = Matrix::selected();
    let mut trials = vec![rows::trial()];
    let mut checks = Vec::new();
    for language in Language::all() {
        let mut cases = 0;
        for host in language.hosts() {
            trials.extend(if host.host.mounts {
                mounting::all(&host)
            } else {
                many::all(&host)
            });
            for case in cases::all() {
                if matrix.has_host(&case, host.host.mounts) {
                    let (host, fixtures) = (host.clone(), fixtures.clone());
                    let name = format!("{}::{}", host.host.name, case.name);
                    trials.push(Trial::test(name, move || is_as_declared(case, host, fixtures)));
                    cases += 1;
                }
            }
        }
        checks.push((language, cases));
    }
    let outcome = pointwork_test_runner::run(trials);
    // Functions are missing if a filter leaves cases out, or if a case failed.
    let complete = checks
        .iter()
        .filter(|(language, cases)| language.calls.passed() == *cases);
    let are_called = complete.fold(true, |are_called, (language, _)| {
        calls::are_complete(language) && are_called
    });
    if are_called { outcome } else { ExitCode::FAILURE }
}

/// A test of one host.
fn trial<Fut>(host: &InHost, name: &str, run: fn(InHost) -> Fut) -> Trial
where
    Fut: Future<Output = anyhow::Result<()>> + 'static,
{
    let (name, host) = (format!("{}::{name}", host.host.name), host.clone());
    Trial::test(name, move || block_on(run(host)).map_err(Failed::from))
}
