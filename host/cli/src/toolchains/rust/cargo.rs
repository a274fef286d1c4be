//! Runs cargo.

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::process::{ChildStdout, Command};

use anstream::{AutoStream, ColorChoice};
use cargo_metadata::{CrateType, Message};

use super::tools::{TARGETS, cannot_run_cargo, cargo, target};
use crate::error::{Error, OrFailed, Result};
use crate::toolchains::language::{BuildOptions, Project};
use crate::toolchains::process;

/// The cargo profile of `pointwork dev`: quick to build, and with lines for backtraces. Dependencies are built once, and
/// optimised, so that there is less code to compile at each change.
const DEV_PROFILE: &str = "pointwork-dev";
const DEV_SETTINGS: &[&str] = &[
    "inherits = \"dev\"",
    "debug = \"line-tables-only\"",
    "incremental = true",
    "package.\"*\".opt-level = \"s\"",
    "package.\"*\".debug = false",
];

/// Builds the library of the package and returns its WebAssembly file. Cargo itself writes to standard error.
pub(super) fn build(package: &Project, options: &BuildOptions) -> Result<PathBuf> {
    let mut command = Command::new(cargo());
    let profile = match (options.development, options.debug) {
        (true, _) => DEV_PROFILE,
        (_, true) => "dev",
        _ => options.profile.as_deref().unwrap_or("release"),
    };
    command
        .args(["build", "--lib", "--message-format", "json-render-diagnostics"])
        .args(["--target", target(options)])
        .args(["--profile", profile])
        .args(["--color", colours()])
        .arg("--manifest-path")
        .arg(&package.manifest)
        .current_dir(&package.directory);
    if let Some(directory) = &options.target_dir {
        // Cargo runs in the directory of the package; the path is relative to the current one.
        let directory = std::path::absolute(directory).or_failed(format_args!(
            "cannot use the target directory `{}`",
            directory.display()
        ))?;
        command.arg("--target-dir").arg(directory);
    }
    if options.development {
        let settings = DEV_SETTINGS.iter();
        command.args(settings.flat_map(|setting| ["--config".to_owned(), format!("profile.{DEV_PROFILE}.{setting}")]));
    }
    command
        .args(options.quiet.then_some("--quiet"))
        .args(&options.arguments);

    let (status, built) = process::run(command, cannot_run_cargo, |stdout| built_file(stdout, package))?;
    if !status.success() {
        return Err(
            Error::failed(format!("cargo could not build package `{}`", package.name))
                .with_source(format!("cargo ended with {status}"))
                .with_optional_hint((!package.root.join("Cargo.lock").exists()).then_some(NO_DEPENDENCIES)),
        );
    }
    built.or_failed("cannot parse the messages of cargo")?.ok_or_else(|| {
        let (package, target) = (&package.name, target(options));
        let message = format!("cargo built no WebAssembly file for package `{package}` with target `{target}`");
        Error::failed(message).with_hint(TARGETS)
    })
}

/// Cargo writes its lock file when it has found every dependency.
const NO_DEPENDENCIES: &str = "cargo did not find every dependency; the first build needs a network, or a project in \
                               which `cargo vendor` was run on a machine with one";

/// The WebAssembly file of the package, by the messages of cargo. All of them are read, so that cargo can end.
fn built_file(messages: ChildStdout, package: &Project) -> io::Result<Option<PathBuf>> {
    let mut built = Ok(None);
    for message in Message::parse_stream(BufReader::new(messages)) {
        match message {
            Ok(Message::CompilerArtifact(artifact))
                if artifact.manifest_path == package.manifest
                    && artifact.target.crate_types.contains(&CrateType::CDyLib) =>
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
