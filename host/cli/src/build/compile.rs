//! Runs cargo.

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anstream::{AutoStream, ColorChoice};
use cargo_metadata::{CrateType, Message};

use super::Request;
use super::package::Found;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// Builds the package's library and returns the WebAssembly file that came out. Cargo talks to the user itself, on
/// standard error.
pub(super) fn cargo_build(package: &Found, request: &Request) -> Result<PathBuf> {
    let mut command = Command::new(cargo());
    command
        .args(["build", "--lib", "--message-format", "json-render-diagnostics"])
        .args([
            "--target",
            &request.target,
            "--profile",
            &request.profile,
            "--color",
            colours(),
        ])
        .arg("--manifest-path")
        .arg(&package.manifest)
        .current_dir(&package.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    if let Some(directory) = &request.target_dir {
        // Cargo runs in the package's directory; the path was said from ours.
        let directory = std::path::absolute(directory).map_err(|error| {
            Error::failed(format!("cannot use the target directory `{}`", directory.display())).with_source(error)
        })?;
        command.arg("--target-dir").arg(directory);
    }
    command.args(&request.cargo_args);

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
        .map_err(|error| Error::failed("lost sight of cargo").with_source(error))?;
    if !status.success() {
        return Err(
            Error::failed(format!("cargo could not build package `{}`", package.name))
                .with_source(format!("cargo ended with {status}")),
        );
    }
    match (built, unreadable) {
        (Some(file), _) => Ok(file.into_std_path_buf()),
        (None, Some(error)) => Err(Error::failed("cannot understand what cargo says").with_source(error)),
        (None, None) => Err(Error::failed(format!(
            "cargo built no WebAssembly file for package `{}` with target `{}`",
            package.name, request.target
        ))
        .with_hint("controllers are built for `wasm32-unknown-unknown`, channel modules for `wasm32-wasip2`")),
    }
}

/// The cargo that runs this process if one does (`cargo run`), so that both use the same toolchain; otherwise PATH's.
fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Cargo looks at the same terminal, but it cannot know about our `--color`.
fn colours() -> &'static str {
    match AutoStream::choice(&io::stderr()) {
        ColorChoice::Never => "never",
        _ => "always",
    }
}

pub(super) fn cannot_run_cargo(error: io::Error) -> Error {
    Error::new(Exit::MissingTool, format!("cannot run `{}`", cargo().display()))
        .with_source(error)
        .with_hint("install Rust as https://rustup.rs says, or name cargo in CARGO")
}
