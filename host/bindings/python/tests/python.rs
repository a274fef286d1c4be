//! The tests of the Python package: pytest and mypy, with each Python that is found.
//!
//! They run in virtual environments below the target folder, with the extension module that cargo built for this test, so
//! that the engine is compiled once. `POINTWORK_PYTHONS` names the interpreters instead, separated by spaces;
//! `POINTWORK_PYTEST` has arguments for pytest, such as `-k exit` or `--long`.
#![allow(clippy::print_stdout, reason = "it tells which Pythons are absent")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

use pointwork_suite::guest::{Controller, End, Guest, Program, ReplyBody, Step};

const VERSIONS: [&str; 3] = ["3.11", "3.12", "3.13"];

/// The requirement that every Python of these tests has.
const INSTALL: &str =
    "install CPython 3.11, 3.12 or 3.13 with its module `venv` (Debian: apt-get install python3 python3-venv)";

fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of cargo's target folder that is these tests' own.
fn work() -> PathBuf {
    let work = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("python");
    fs::create_dir_all(&work).expect("a folder below the target folder");
    work
}

/// Runs a program to its end; its output is shown if it fails.
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{text}\n{error}",
        output.status
    );
    text
}

/// The version of an interpreter, if it runs, such as `3.12`.
fn version_of(python: &str) -> Option<String> {
    let code = "import sys, venv; print('%d.%d' % sys.version_info[:2])";
    let output = Command::new(python).args(["-c", code]).output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !version.is_empty()).then_some(version)
}

/// One interpreter for each version that is found.
fn pythons() -> Vec<(String, String)> {
    if let Ok(given) = env::var("POINTWORK_PYTHONS") {
        return given
            .split_whitespace()
            .map(|python| (version_of(python).expect("it runs"), python.to_owned()))
            .collect();
    }
    let pyenv =
        env::var("PYENV_ROOT").map_or_else(|_| env::home_dir().unwrap_or_default().join(".pyenv"), PathBuf::from);
    let installed = fs::read_dir(pyenv.join("versions")).into_iter().flatten().flatten();
    let installed = installed.map(|entry| entry.path().join("bin/python").to_string_lossy().into_owned());
    let named = VERSIONS.iter().map(|version| format!("python{version}"));
    let candidates: Vec<_> = named.chain(["python3".to_owned()]).chain(installed).collect();
    let mut found: Vec<(String, String)> = Vec::new();
    for python in candidates {
        if let Some(version) = version_of(&python)
            && VERSIONS.contains(&&*version)
            && found.iter().all(|(known, _)| *known != version)
        {
            found.push((version, python));
        }
    }
    found.sort();
    for version in VERSIONS {
        if found.iter().all(|(known, _)| known != version) {
            println!("absent, and not tested: Python {version}");
        }
    }
    assert!(!found.is_empty(), "there is no Python of {VERSIONS:?}: {INSTALL}");
    found
}

/// A virtual environment with what the tests need; made once for each list of requirements.
fn environment(version: &str, python: &str) -> PathBuf {
    // Both tests may be the first to need it.
    static MAKES: Mutex<()> = Mutex::new(());
    let _makes = MAKES.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = work().join(format!("venv-{version}"));
    let requirements = here().join("requirements.txt");
    let wanted = fs::read_to_string(&requirements).expect("the requirements");
    let made = folder.join("made.txt");
    let bin = folder
        .join(if cfg!(windows) { "Scripts" } else { "bin" })
        .join("python");
    if fs::read_to_string(&made).is_ok_and(|made| made == wanted) {
        return bin;
    }
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder));
    run(Command::new(&bin)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"])
        .arg(&requirements));
    fs::write(made, wanted).expect("it is written");
    bin
}

/// A folder with the package as it is installed: the files of Python, and the extension module that cargo built.
fn package() -> PathBuf {
    let built = env::current_exe().expect("this program");
    let folder = built.parent().expect("its folder");
    let name = format!("{}_pointwork", env::consts::DLL_PREFIX);
    let newest = [folder, folder.parent().expect("the profile's folder")]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("readable").flatten())
        .filter(|entry| {
            let file = entry.file_name().to_string_lossy().into_owned();
            file.starts_with(&name) && file.ends_with(env::consts::DLL_SUFFIX)
        })
        .max_by_key(|entry| entry.metadata().and_then(|data| data.modified()).expect("its time"))
        .expect("cargo builds the extension module with this test");
    let site = work().join("site");
    let package = site.join("pointwork");
    let _ = fs::remove_dir_all(&package);
    fs::create_dir_all(&package).expect("a folder");
    for entry in fs::read_dir(here().join("python/pointwork"))
        .expect("the package")
        .flatten()
    {
        if entry.path().is_file() {
            fs::copy(entry.path(), package.join(entry.file_name())).expect("it is copied");
        }
    }
    let module = if cfg!(windows) {
        "_pointwork.pyd"
    } else {
        "_pointwork.abi3.so"
    };
    fs::copy(newest.path(), package.join(module)).expect("it is copied");
    site
}

/// The components that the tests load, each as a file.
fn guests() -> PathBuf {
    let folder = work().join("guests");
    fs::create_dir_all(&folder).expect("a folder");
    let write = |name: &str, guest: Guest| fs::write(folder.join(name), guest.build()).expect("it is written");
    let pieces = ["a", "b", "c"].map(str::to_owned).to_vec();
    let stream = Program::new().step(Step::Stream(200, pieces));
    let stream = stream.step(Step::Finish).ends(End::Deferred);
    write(
        "shop.wasm",
        Guest::of(
            Controller::new("Shop", "")
                .get("/ask", Program::text("said").call("db:ask"))
                .get("/plain", Program::text("plain"))
                .get("/items/:id", Program::new().param("id").call("db:item"))
                .get("/hand", Program::text("over").hands_over("db:take"))
                .get("/stream", stream)
                .post("/echo", Program::new().step(Step::Echo).ends(End::Deferred))
                .takes("stream"),
        ),
    );
    write(
        "next.wasm",
        Guest::of(Controller::new("Shop", "").get("/plain", Program::text("next"))),
    );
    write(
        "faults.wasm",
        Guest::of(
            Controller::new("Faults", "")
                .get("/trap", Program::new().ends(End::Trap))
                .get("/recurse", Program::new().ends(End::Overflow))
                .get("/fine", Program::new().replies(ReplyBody::Empty)),
        ),
    );
    folder
}

fn python_test(site: &Path, guests: &Path, version: &str, python: &str) {
    let python = environment(version, python);
    println!("Python {version}: {}", python.display());
    let mut tests = Command::new(&python);
    tests.args(["-m", "pytest", "--strict-markers"]).current_dir(here());
    if let Ok(more) = env::var("POINTWORK_PYTEST") {
        tests.args(more.split_whitespace());
    }
    tests.env("PYTHONPATH", site).env("POINTWORK_GUESTS", guests);
    tests.env("PYTHONDONTWRITEBYTECODE", "1");
    println!("{}", run(&mut tests));
}

#[test]
fn the_package_passes_its_tests_with_every_python_that_is_found() {
    let (site, guests) = (package(), guests());
    for (version, python) in pythons() {
        python_test(&site, &guests, &version, &python);
    }
}

#[test]
fn the_package_and_its_stubs_are_typed() {
    let pythons = pythons();
    let (version, python) = &pythons[0];
    let python = environment(version, python);
    let cache = work().join("mypy");
    let mut check = Command::new(python);
    check
        .args(["-m", "mypy", "--strict", "--no-error-summary", "--cache-dir"])
        .arg(cache);
    run(check.args(["python/pointwork", "tests/typed.py"]).current_dir(here()));
}
