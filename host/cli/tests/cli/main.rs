//! The command line as its users run it.

mod access_log;
#[cfg(unix)]
mod admin;
mod banner;
mod booking;
mod build;
mod capabilities;
mod check;
mod completions;
mod dev;
#[cfg(target_os = "linux")]
mod disk;
#[cfg(unix)]
mod doctor;
mod empty;
#[cfg(unix)]
mod events;
mod example;
mod general;
#[cfg(unix)]
mod kills;
mod languages;
#[cfg(target_os = "linux")]
mod log;
mod new;
#[cfg(unix)]
mod orders;
#[cfg(target_os = "linux")]
mod polyglot;
mod products;
#[cfg(unix)]
mod python;
mod routes;
mod serve;
mod server;
#[cfg(unix)]
mod state;
mod typescript;
mod variables;
mod versions;
mod warnings;
mod watch;

use std::path::{Path, PathBuf};
use std::process::Output;

use pointwork_suite::languages::compiler_of_programs;
use snapbox::cmd::{Command, OutputAssert, cargo_bin};
use tempfile::TempDir;

/// Variables of the environment that the command line reads.
const VARIABLES: [&str; 6] = [
    "RUST_LOG",
    "NO_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "POINTWORK_SDK_PATH",
    "RUSTC",
];

/// `pointwork` in a folder, without these variables.
fn pointwork(folder: &(impl AsRef<Path> + ?Sized)) -> Command {
    let (variable, compiler) = compiler_of_programs();
    let mut command = Command::new(cargo_bin!("pointwork"))
        .current_dir(folder)
        .env(variable, compiler)
        .env("XDG_CACHE_HOME", cache());
    for variable in VARIABLES {
        command = command.env_remove(variable);
    }
    command
}

/// `pointwork` in a folder, with these words as arguments.
fn run(folder: &(impl AsRef<Path> + ?Sized), arguments: &str) -> Command {
    pointwork(folder).args(arguments.split(' '))
}

/// The cache of compiled components; not that of the user.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

/// The SDK of the checkout.
fn sdk() -> PathBuf {
    let sdk = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guest/rust");
    sdk.canonicalize().expect("the SDK is in the checkout")
}

/// A new project in a folder, which uses the SDK of the checkout.
fn project(folder: &TempDir, name: &str) -> PathBuf {
    let new = run(folder, "new").arg(name).arg("--sdk-path").arg(sdk());
    new.assert().success();
    folder.path().join(name)
}

/// `pointwork build` with the target directory that is kept between runs, so that the dependencies are built once. Each
/// package has a name of its own: cargo writes two packages of one name to the same place.
fn build(folder: &(impl AsRef<Path> + ?Sized)) -> Command {
    run(folder, "build --target-dir").arg(example::target_dir())
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn write(folder: &(impl AsRef<Path> + ?Sized), file: &str, content: impl AsRef<[u8]>) {
    let path = folder.as_ref().join(file);
    std::fs::create_dir_all(path.parent().expect("below the folder")).expect("created");
    std::fs::write(path, content).expect("written");
}

/// Runs a command that has to end with `code`. The result is its standard error.
fn stderr(command: Command, code: i32) -> String {
    let output: Output = command.output().expect("it runs");
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}

/// Runs a command that has to end with `code`, and without a result on its standard output.
fn refused(command: Command, code: i32) -> OutputAssert {
    command.assert().code(code).stdout_eq("")
}

trait Says {
    /// Checks that the text has each of these parts.
    fn says<const N: usize>(&self, parts: [&str; N]);
}

impl Says for String {
    fn says<const N: usize>(&self, parts: [&str; N]) {
        for part in parts {
            assert!(self.contains(part), "`{part}` is not in:\n{self}");
        }
    }
}
