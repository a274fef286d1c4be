//! The cases of the suite in hosts of other languages: those that only a host can fail with the built-in server, and those of
//! adapters mounted in a server of that language.
//!
//! ```text
//! cargo test --workspace --test hosts -- python::a_swap
//! ```
//!
//! `POINTWORK_LONG=1 cargo test --workspace --test hosts -- many` opens and closes 10,000 applications in each.
//!
//! `POINTWORK_HOSTS` narrows it to some languages, as in `POINTWORK_HOSTS=c`.

mod many;
mod mounting;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::{Arc, LazyLock, Mutex};
use std::{env, fs};

use pointwork_hosts_tests::{Host, InHost, Place};
use pointwork_suite::case::Case;
use pointwork_suite::cases;
use pointwork_suite::fixtures::hosts::is_wanted;
use pointwork_suite::fixtures::{Fixtures, python};
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
    // The test that runs before keeps it.
    let (program, new) = (folder.join("host"), folder.join(format!("host.{}", std::process::id())));
    let output = Command::new("gcc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", "-g", "-o"])
        .args([&new, &programs().join("host.c")])
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

/// The languages: the name with the built-in server, with a server of the language, how the application names that one, and the
/// program.
type Language = (&'static str, &'static str, &'static str, fn() -> Command);

const LANGUAGES: [Language; 2] = [("c", "microhttpd", "c", c), ("python", "uvicorn", "asgi", python)];

fn hosts() -> Vec<InHost> {
    // The application makes it, for nobody else.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("components");
    let host = |name, adapter, mounts, command: fn() -> Command| {
        let host = Host {
            name,
            adapter,
            mounts,
            cache: cache.clone(),
            command,
            idle: Mutex::default(),
        };
        InHost {
            host: Arc::new(host),
            place: Place::default(),
        }
    };
    LANGUAGES
        .into_iter()
        .filter(|(name, ..)| is_wanted(name))
        .flat_map(|(name, server, mount, command)| {
            [host(name, "hyper", false, command), host(server, mount, true, command)]
        })
        .collect()
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
    let name = host.host.name;
    let outcome = block_on(case.run(Arc::new(host), fixtures));
    Differences::declared()
        .judge(name, case.name, outcome)
        .map_err(Failed::from)
}

fn main() -> ExitCode {
    let fixtures = Fixtures::new(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let mut trials = Vec::new();
    for host in hosts() {
        trials.extend(if host.host.mounts {
            mounting::all(&host)
        } else {
            many::all(&host)
        });
        for case in cases::all() {
            if case.everywhere == host.host.mounts {
                let (host, fixtures) = (host.clone(), fixtures.clone());
                let name = format!("{}::{}", host.host.name, case.name);
                trials.push(Trial::test(name, move || is_as_declared(case, host, fixtures)));
            }
        }
    }
    pointwork_test_runner::run(trials)
}

/// A test of one host.
fn trial<Fut>(host: &InHost, name: &str, run: fn(InHost) -> Fut) -> Trial
where
    Fut: Future<Output = anyhow::Result<()>> + 'static,
{
    let (name, host) = (format!("{}::{name}", host.host.name), host.clone());
    Trial::test(name, move || block_on(run(host)).map_err(Failed::from))
}
