//! Runs cargo.

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};

use anstream::{AutoStream, ColorChoice};
use cargo_metadata::{CrateType, Message};

use super::BuildArgs;
use super::package::CargoPackage;
use super::toolchain::{TARGETS, cannot_run_cargo, cargo};
use crate::error::{Error, OrFailed, Result};

/// Builds the library of the package and returns its WebAssembly file. Cargo itself writes to standard error.
pub(super) fn cargo_build(package: &CargoPackage, args: &BuildArgs) -> Result<PathBuf> {
    let mut command = Command::new(cargo());
    command
        .args(["build", "--lib", "--message-format", "json-render-diagnostics"])
        .args(["--target", &args.target])
        .args(["--profile", if args.debug { "dev" } else { &args.profile }])
        .args(["--color", colours()])
        .arg("--manifest-path")
        .arg(&package.manifest)
        .current_dir(&package.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if let Some(directory) = &args.target_dir {
        // Cargo runs in the directory of the package; the path is relative to the current one.
        let directory = std::path::absolute(directory).or_failed(format_args!(
            "cannot use the target directory `{}`",
            directory.display()
        ))?;
        command.arg("--target-dir").arg(directory);
    }
    command.args(&args.cargo_args);

    let mut child = command.spawn().map_err(cannot_run_cargo)?;
    let built = child
        .stdout
        .take()
        .map_or(Ok(None), |stdout| built_file(stdout, package));
    let status = child.wait().or_failed("cannot wait for cargo")?;
    if !status.success() {
        return Err(
            Error::failed(format!("cargo could not build package `{}`", package.name))
                .with_source(format!("cargo ended with {status}"))
                .with_optional_hint((!package.workspace_root.join("Cargo.lock").exists()).then_some(NO_DEPENDENCIES)),
        );
    }
    built.or_failed("cannot parse the messages of cargo")?.ok_or_else(|| {
        let (package, target) = (&package.name, &args.target);
        let message = format!("cargo built no WebAssembly file for package `{package}` with target `{target}`");
        Error::failed(message).with_hint(TARGETS)
    })
}

/// Cargo writes its lock file when it has found every dependency.
const NO_DEPENDENCIES: &str = "cargo did not find every dependency; the first build needs a network, or a project in which `cargo vendor` was run \
     on a machine with one";

/// The WebAssembly file of the package, by the messages of cargo. All of them are read, so that cargo can end.
fn built_file(messages: ChildStdout, package: &CargoPackage) -> io::Result<Option<PathBuf>> {
    let mut built = Ok(None);
    for message in Message::parse_stream(BufReader::new(messages)) {
        match message {
            Ok(Message::CompilerArtifact(artifact))
                if artifact.package_id == package.id && artifact.target.crate_types.contains(&CrateType::CDyLib) =>
            {
                let mut files = artifact.filenames.into_iter();
                let file = files.find(|file| file.extension() == Some("wasm"));
                built = Ok(file.map(Into::into));
            }
            Err(error) if !matches!(built, Ok(Some(_))) => built = Err(error),
            _ => {}
        }
    }
    built
}

/// Cargo sees the same terminal, but not `--color`.
fn colours() -> &'static str {
    match AutoStream::choice(&io::stderr()) {
        ColorChoice::Never => "never",
        _ => "always",
    }
}
