//! Runs the build tool of the SDK in Node.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::Command;

use pointwork_wasi::compose;
use serde::Deserialize;

use super::package::entry;
use super::tools::{NODE, cannot_run_node, sdk_of};
use crate::error::{Error, OrFailed, Result};
use crate::toolchains::language::{BuildOptions, Component, Project};
use crate::toolchains::process;

/// The folder of the engine of `pointwork dev`, below that of the components.
const ENGINES: &str = "target/pointwork/dev";

/// The JSON that the build tool prints.
#[derive(Deserialize)]
struct Built {
    inputs: Vec<PathBuf>,
    /// A component without a program, and the program: a build for development.
    engine: Option<PathBuf>,
    program: Option<String>,
    /// The interfaces of WASI that the program imports, as in `wasi:filesystem/preopens@0.2.0`.
    wasi: Vec<String>,
}

/// Builds the component. The tool writes errors and warnings to standard error.
pub(super) fn build(project: &Project, options: &BuildOptions) -> Result<Component> {
    let folder = tempfile::tempdir().or_failed("cannot make a directory for the component")?;
    let made = folder.path().join("module.wasm");
    let mut command = Command::new(NODE);
    command
        .arg(sdk_of(&project.directory).join("dist/build/cli.js"))
        .arg(entry(&project.directory)?)
        .arg("--json")
        .current_dir(&project.directory);
    match options.development {
        true => command.arg("--engine").arg(project.root.join(ENGINES)),
        false => command.arg("--out").arg(&made),
    };
    let (status, built) = process::run(command, cannot_run_node, |stdout| {
        // Nothing is printed if the build fails.
        let built = serde_json::from_reader::<_, Built>(BufReader::new(stdout));
        Ok(built.ok())
    })?;
    let failed = || Error::failed(format!("package `{}` could not be built", project.name));
    if !status.success() {
        return Err(failed().with_source(format!("the build tool of the SDK ended with {status}")));
    }
    let built = built.or_failed("cannot read what the build tool printed")?;
    let built =
        built.ok_or_else(|| failed().with_source("the build tool of the SDK printed something else than JSON"))?;
    let file = built.engine.unwrap_or(made);
    let bytes = std::fs::read(&file).or_failed(format_args!("cannot read `{}`", file.display()))?;
    Ok(Component {
        bytes: composed(bytes, &built.wasi)?,
        form: "synchronous",
        sources: built.inputs,
        program: built.program,
    })
}

/// Answers what the engine imports of WASI, beside what the program does, which the host grants. Without imports of the
/// program the engine has none.
fn composed(bytes: Vec<u8>, wasi: &[String]) -> Result<Vec<u8>> {
    if wasi.is_empty() {
        return Ok(bytes);
    }
    // The engine imports another release of the same interfaces.
    let interface = |import: &str| import.split('@').next().map(str::to_owned);
    let granted: Vec<_> = wasi.iter().map(|import| interface(import)).collect();
    compose(&bytes, |import| granted.contains(&interface(import)))
        .or_failed("the component cannot be composed with the answers to WASI")
}
