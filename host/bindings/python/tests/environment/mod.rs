//! Virtual environments below the target folder, and in them the package with the extension module that cargo built: for the
//! tests and the benchmark.
#![allow(clippy::print_stdout, reason = "it tells which Pythons are absent")]

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

/// The versions that the package is for.
const VERSIONS: [&str; 3] = ["3.11", "3.12", "3.13"];

/// The requirement that every Python of these tests has.
const INSTALL: &str =
    "install CPython 3.11, 3.12 or 3.13 with its module `venv` (Debian: apt-get install python3 python3-venv)";

/// The folder of this package.
pub(crate) fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The folder of cargo's target folder that is these tests' own.
pub(crate) fn work() -> PathBuf {
    let work = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("python");
    fs::create_dir_all(&work).expect("a folder below the target folder");
    work
}

/// Runs a program to its end; its output is shown if it fails.
pub(crate) fn run(command: &mut Command) -> String {
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
pub(crate) fn pythons() -> Vec<(String, String)> {
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

/// The interpreter of a virtual environment with these requirements, a file of this package; made once for each list of them.
pub(crate) fn environment(name: &str, python: &str, requirements: &str) -> PathBuf {
    // Both tests may be the first to need it.
    static MAKES: Mutex<()> = Mutex::new(());
    let _makes = MAKES.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = work().join(format!("venv-{name}"));
    let requirements = here().join(requirements);
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
pub(crate) fn package(name: &str) -> PathBuf {
    let built = env::current_exe().expect("this program");
    let folder = built.parent().expect("its folder");
    let library = format!("{}_pointwork", env::consts::DLL_PREFIX);
    let newest = [folder, folder.parent().expect("the profile's folder")]
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("readable").flatten())
        .filter(|entry| {
            let file = entry.file_name().to_string_lossy().into_owned();
            file.starts_with(&library) && file.ends_with(env::consts::DLL_SUFFIX)
        })
        .max_by_key(|entry| entry.metadata().and_then(|data| data.modified()).expect("its time"))
        .expect("cargo builds the extension module with this program");
    let site = work().join(name);
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
