//! Python, pip, and the virtual environment of a project.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use pointwork_config::Module;

use super::package::PythonProject;
use super::sdk::SDK;
use crate::error::{Error, OrFailed, Result};
use crate::exit::Exit;
use crate::toolchains::findings::{Findings, number, version_of};
use crate::toolchains::{self, shown};
use crate::ui::Terminal;

/// The interpreters that may make the environment, the system's own first, which may be too old.
const PYTHONS: &[&str] = if cfg!(windows) {
    &["python", "py"]
} else {
    &["python3", "python3.14", "python3.13", "python3.12", "python3.11"]
};

/// The oldest Python that runs the build tool.
const PYTHON_VERSION: (u32, u32) = (3, 11);

const GET_PYTHON: &str =
    "install Python 3.11 or later from https://www.python.org, with `venv`: on Debian, `apt install python3-venv`";

const REQUIREMENTS: &str = "requirements.txt";
const ENVIRONMENT: &str = ".venv";

/// A network that is missing is told in seconds.
const INSTALL: [&str; 11] = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--no-input",
    "--retries",
    "2",
    "--timeout",
    "20",
    "-r",
];

/// The interpreter of the environment in the folder of a project.
pub(super) fn python(root: &Path) -> PathBuf {
    let place = if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    };
    root.join(ENVIRONMENT).join(place)
}

/// Makes the environment of a project if there is none, and has pip install what it lacks.
pub(super) fn ensure(root: &Path, terminal: &mut Terminal) -> Result<()> {
    let requirements = root.join(REQUIREMENTS);
    let file = File::open(&requirements).or_failed(format_args!("cannot read `{}`", requirements.display()));
    let file = file.map_err(|error| {
        error.with_hint("it names the packages of the module, with the SDK:\n\n-e ./vendor/pointwork-guest[build]")
    })?;
    // Two installations at once would disturb each other.
    let _until_it_is_done = file.lock();
    let python = python(root);
    let begins = !python.exists();
    if begins {
        make_environment(root, terminal)?;
    } else {
        let version = version_of(Command::new(&python), root).map_err(cannot_run_python)?;
        if is_old(&version) {
            let hint = format!("remove `{}`, and it is made again", root.join(ENVIRONMENT).display());
            return Err(Error::new(Exit::MissingTool, needs_python(&version)).with_hint(hint));
        }
    }
    let wanted = missing(root).join(", ");
    if wanted.is_empty() {
        return Ok(());
    }
    terminal.note(format_args!(
        "installing {wanted} in {} with pip",
        shown(&root.join(ENVIRONMENT))
    ));
    let arguments = INSTALL.iter().chain([&REQUIREMENTS]);
    let status = run(Command::new(&python).args(arguments), root).map_err(cannot_run_python)?;
    let rest = missing(root).join(", ");
    if status.success() && rest.is_empty() {
        return Ok(());
    }
    let command = format!("cd {} && {} -m pip install", root.display(), relative_python());
    let names = if rest.is_empty() { &wanted } else { &rest };
    Err(Error::new(
        Exit::MissingTool,
        format!("pip could not install {names} in `{}`", shown(root)),
    )
    .with_source(format!("`pip install -r {REQUIREMENTS}` ended with {status}"))
    .with_hint(format!(
        "with a network: ({command} -r {REQUIREMENTS})\n\
                 without one, from a folder of packages: ({command} --no-index --find-links FOLDER -r {REQUIREMENTS})\n\
                 which a machine with a network fills: pip download setuptools==80.9.0 -r {REQUIREMENTS} -d FOLDER"
    )))
}

fn relative_python() -> String {
    python(Path::new("")).display().to_string()
}

/// Makes the environment with the first interpreter that is new enough.
fn make_environment(root: &Path, terminal: &mut Terminal) -> Result<()> {
    let (python, version) = interpreter(root)?;
    let place = root.join(ENVIRONMENT);
    terminal.note(format_args!("making {} with {version}", shown(&place)));
    let status = run(Command::new(python).args(["-m", "venv", ENVIRONMENT]), root).map_err(cannot_run_python)?;
    if status.success() {
        return Ok(());
    }
    // One without pip would be taken for a whole one.
    let _ = fs::remove_dir_all(&place);
    let message = format!("`{python} -m venv` could not make `{}`", shown(&place));
    Err(Error::new(Exit::MissingTool, message)
        .with_source(format!("it ended with {status}"))
        .with_hint(GET_PYTHON))
}

/// An interpreter that is new enough, with its version.
fn interpreter(folder: &Path) -> Result<(&'static str, String)> {
    let mut old = None;
    let mut missing = None;
    for python in PYTHONS {
        match version_of(Command::new(python), folder) {
            Ok(version) if is_old(&version) => old = old.or(Some(version)),
            Ok(version) => return Ok((python, version)),
            Err(error) => missing = missing.or(Some(error)),
        }
    }
    let missing = missing.unwrap_or_else(|| io::ErrorKind::NotFound.into());
    Err(match old {
        Some(version) => Error::new(Exit::MissingTool, needs_python(&version)).with_hint(GET_PYTHON),
        None => cannot_run_python(missing),
    })
}

/// Runs a program. Standard output is for the result of `build`.
fn run(command: &mut Command, folder: &Path) -> io::Result<ExitStatus> {
    command
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(io::stderr())
        .status()
}

/// The requirements that the environment lacks, by the folders in which pip notes what is installed.
fn missing(root: &Path) -> Vec<String> {
    let installed = installed(root);
    let text = fs::read_to_string(root.join(REQUIREMENTS)).unwrap_or_default();
    let lines = text
        .lines()
        .map(|line| line.split(" #").next().unwrap_or_default().trim());
    let wanted = lines.filter_map(|line| wanted(line, root));
    let lacks = |(name, version): &(String, Option<String>)| match version {
        Some(version) => !installed.contains(&format!("{name}-{version}")),
        None => !installed
            .iter()
            .any(|one| one.rsplit_once('-').is_some_and(|(other, _)| other == name)),
    };
    let missing: BTreeSet<_> = wanted.filter(lacks).map(|(name, _)| name.replace('_', "-")).collect();
    missing.into_iter().collect()
}

/// The package of a requirement, with its exact version if it has one. Options and packages for some systems only are left
/// to pip.
fn wanted(line: &str, root: &Path) -> Option<(String, Option<String>)> {
    if let Some(path) = line.strip_prefix("-e ") {
        let path = path.trim().split('[').next().unwrap_or_default();
        return Some((normal(SDK.package), Some((SDK.version)(&root.join(path))?)));
    }
    if !line.starts_with(|c: char| c.is_ascii_alphanumeric()) || line.contains([';', '@', '/']) {
        return None;
    }
    let end = line.find(|c: char| "=<>!~[ ".contains(c)).unwrap_or(line.len());
    let version = line.split_once("==").map(|(_, version)| version.trim().to_owned());
    let is_exact = |version: &String| !version.contains([',', '*', ' ']);
    Some((normal(&line[..end]), version.filter(is_exact)))
}

/// The name of a package as its folder in the environment has it.
fn normal(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '.'], "_")
}

/// The packages in the environment, as `name-version`.
fn installed(root: &Path) -> BTreeSet<String> {
    let environment = root.join(ENVIRONMENT);
    let libraries = fs::read_dir(environment.join("lib")).into_iter().flatten().flatten();
    let folders = libraries.map(|library| library.path().join("site-packages"));
    let folders = folders.chain([environment.join("Lib/site-packages")]);
    let entries = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let packages = names.filter_map(|name| {
        let (name, version) = name.strip_suffix(".dist-info")?.rsplit_once('-')?;
        Some(format!("{}-{version}", normal(name)))
    });
    packages.collect()
}

fn is_old(version: &str) -> bool {
    number(version).is_some_and(|version| version < PYTHON_VERSION)
}

fn needs_python(version: &str) -> String {
    let (major, minor) = PYTHON_VERSION;
    format!("Python {major}.{minor} or later builds modules in Python: this is {version}")
}

pub(super) fn cannot_run_python(error: io::Error) -> Error {
    let message = format!("cannot run `{}`, which builds modules in Python", PYTHONS[0]);
    Error::new(Exit::MissingTool, message)
        .with_source(error)
        .with_hint(GET_PYTHON)
}

/// Reports the tools that build a component in this folder.
pub(super) fn report(folder: &Path, modules: &[&Module], findings: &mut Findings<'_>) {
    let projects = modules.iter().filter_map(|module| module.build.as_deref());
    let projects = projects.filter_map(|path| Some(toolchains::at(path).ok()?.1));
    let projects: Vec<_> = projects
        .filter(|manifest| manifest.ends_with("pyproject.toml"))
        .collect();
    match interpreter(folder) {
        Ok((_, version)) => {
            let (major, minor) = PYTHON_VERSION;
            findings.ok(format_args!("{version} (needed: {major}.{minor} or later)"));
        }
        Err(error) if !projects.is_empty() => findings.error(&error),
        Err(_) => findings.note("Python 3.11 or later is not installed, which builds modules in Python"),
    }
    let mut roots = BTreeSet::new();
    for manifest in projects {
        let place = manifest.canonicalize().unwrap_or(manifest);
        match PythonProject::read(place.parent().unwrap_or(&place)) {
            Ok(package) => drop(roots.insert(package.root())),
            Err(error) => findings.error(&error),
        }
    }
    for root in roots {
        let place = shown(&root.join(REQUIREMENTS));
        match missing(&root).join(", ") {
            names if names.is_empty() => findings.ok(format_args!("the packages of {place} are installed")),
            names => findings.note(format_args!(
                "`pointwork build` installs the packages of {place}: {names}"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_read_as_far_as_their_folders_tell() {
        let root = Path::new("/nowhere");
        let exact = |name: &str, version: &str| Some((name.to_owned(), Some(version.to_owned())));
        assert_eq!(
            wanted("Typing.Extensions==4.16.0", root),
            exact("typing_extensions", "4.16.0")
        );
        assert_eq!(wanted("attrs >= 26, < 27", root), Some(("attrs".to_owned(), None)));
        assert_eq!(wanted("attrs==26.*", root), Some(("attrs".to_owned(), None)));
        for line in [
            "",
            "# attrs==1",
            "-r other.txt",
            "--no-index",
            "tzdata==1; sys_platform == 'win32'",
            "./a",
        ] {
            assert_eq!(wanted(line, root), None, "{line}");
        }
    }
}
