//! Runs cargo.

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anstream::{AutoStream, ColorChoice};
use cargo_metadata::{CrateType, Message};

use super::BuildArgs;
use super::package::CargoPackage;
use super::toolchain::{TARGETS, cannot_run_cargo, cargo};
use crate::error::{Error, Result};

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
        let directory = std::path::absolute(directory).map_err(|error| {
            Error::failed(format!("cannot use the target directory `{}`", directory.display())).with_source(error)
        })?;
        command.arg("--target-dir").arg(directory);
    }
    command.args(&args.cargo_args);

    let mut child = command.spawn().map_err(cannot_run_cargo)?;
    let mut built = None;
    let mut unreadable = None;
    if let Some(stdout) = child.stdout.take() {
        for message in Message::parse_stream(BufReader::new(stdout)) {
            match message {
                Ok(Message::CompilerArtifact(artifact))
                    if artifact.package_id == package.id
                        && artifact.target.crate_types.contains(&CrateType::CDyLib) =>
                {
                    built = artifact
                        .filenames
                        .into_iter()
                        .find(|file| file.extension() == Some("wasm"));
                }
                Ok(_) => {}
                Err(error) => unreadable = Some(error),
            }
        }
    }
    let status = child
        .wait()
        .map_err(|error| Error::failed("cannot wait for cargo").with_source(error))?;
    if !status.success() {
        return Err(
            Error::failed(format!("cargo could not build package `{}`", package.name))
                .with_source(format!("cargo ended with {status}")),
        );
    }
    match (built, unreadable) {
        (Some(file), _) => Ok(file.into_std_path_buf()),
        (None, Some(error)) => Err(Error::failed("cannot parse the messages of cargo").with_source(error)),
        (None, None) => Err(Error::failed(format!(
            "cargo built no WebAssembly file for package `{}` with target `{}`",
            package.name, args.target
        ))
        .with_hint(TARGETS)),
    }
}

/// The cargo that runs this process if one does (`cargo run`), so that both use the same toolchain; otherwise PATH's.
/// Cargo sees the same terminal, but not `--color`.
fn colours() -> &'static str {
    match AutoStream::choice(&io::stderr()) {
        ColorChoice::Never => "never",
        _ => "always",
    }
}
