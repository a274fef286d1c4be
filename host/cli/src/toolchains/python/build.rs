//! Runs the build tool of the SDK in the environment of the project.

use std::fs;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;

use pointwork_wasi::{COMPONENT, compose};
use serde::Deserialize;

use super::package::PythonProject;
use super::tools::{cannot_run_python, python};
use crate::error::{Error, OrFailed, Result};
use crate::toolchains::language::{BuildOptions, Component, Project};
use crate::toolchains::process;

/// The folder of the engines of `pointwork dev`, below that of the components.
const ENGINES: &str = "target/pointwork/dev";

/// The JSON that the build tool prints.
#[derive(Deserialize)]
struct BuildReport {
    is_async: bool,
    inputs: Vec<PathBuf>,
    /// A component without a program, and the program: a build for development.
    engine: Option<PathBuf>,
    program: Option<String>,
}

/// Builds the component. The tool writes errors and warnings to standard error.
pub(super) fn build(project: &Project, options: &BuildOptions) -> Result<Component> {
    let package = PythonProject::read(&project.directory)?;
    let folder = tempfile::tempdir().or_failed("cannot make a directory for the component")?;
    let made = folder.path().join("module.wasm");
    let entry = package.entry()?;
    let entry = entry.strip_prefix(&project.root).unwrap_or(&entry);
    let mut command = Command::new(python(&project.root));
    command
        .args(["-m", "pointwork_guest.build", "--json", "--keep-wasi", "--out"])
        .arg(&made)
        .arg(entry)
        // Errors name files from here.
        .current_dir(&project.root);
    if options.development {
        command.arg("--engine").arg(project.root.join(ENGINES));
    }
    let (status, built) = process::run(command, cannot_run_python, |stdout| {
        // Nothing is printed if the build fails.
        Ok(serde_json::from_reader::<_, BuildReport>(BufReader::new(stdout)).ok())
    })?;
    let failed = || Error::failed(format!("module `{}` could not be built", project.name));
    if !status.success() {
        return Err(failed().with_source(format!("the build tool of the SDK ended with {status}")));
    }
    let built = built.or_failed("cannot read what the build tool printed")?;
    let built =
        built.ok_or_else(|| failed().with_source("the build tool of the SDK printed something else than JSON"))?;
    let bytes = match &built.engine {
        Some(engine) => composed_once(engine, package.grants())?,
        None => composed(&made, package.grants())?,
    };
    Ok(Component {
        bytes,
        form: if built.is_async { "asynchronous" } else { "synchronous" },
        sources: built.inputs,
        program: built.program,
    })
}

/// The component of a file with the answers of Pointwork to its imports of WASI, except for those that are granted.
fn composed(file: &Path, grants: &[String]) -> Result<Vec<u8>> {
    let component = fs::read(file).or_failed(format_args!("cannot read `{}`", file.display()))?;
    let is_granted = |import: &str| grants.iter().any(|grant| import.starts_with(grant.as_str()));
    compose(&component, is_granted).or_failed("the component cannot be composed with WASI")
}

/// The same for an engine, which is kept: the work takes longer than all else that a change of the program needs.
fn composed_once(engine: &Path, grants: &[String]) -> Result<Vec<u8>> {
    let composition = pointwork::digest(&[COMPONENT, grants.join("\n").as_bytes()].concat());
    let kept = engine.with_extension(format!("{}.composed", &composition[..8]));
    if let Ok(component) = fs::read(&kept) {
        return Ok(component);
    }
    let component = composed(engine, grants)?;
    // Renamed into place, so that the file is whole.
    let folder = engine.parent().unwrap_or(engine);
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|file| {
        fs::write(&file, &component)?;
        Ok(file.persist(&kept)?)
    });
    written.or_failed(format_args!("cannot write `{}`", kept.display()))?;
    Ok(component)
}
