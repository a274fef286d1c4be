//! The command line as its users run it.

mod access_log;
#[cfg(unix)]
mod admin;
mod banner;
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
mod example;
mod general;
#[cfg(unix)]
mod kills;
#[cfg(target_os = "linux")]
mod log;
mod new;
#[cfg(target_os = "linux")]
mod polyglot;
mod products;
mod routes;
mod serve;
mod server;
#[cfg(unix)]
mod state;
mod variables;
mod versions;
mod warnings;
mod watch;

use std::path::{Path, PathBuf};
use std::process::Output;

use snapbox::cmd::{Command, cargo_bin};

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
fn pointwork(folder: &Path) -> Command {
    let mut command = Command::new(cargo_bin!("pointwork"))
        .current_dir(folder)
        .env("XDG_CACHE_HOME", cache());
    for variable in VARIABLES {
        command = command.env_remove(variable);
    }
    command
}

/// The cache of compiled components; not that of the user.
fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn write(folder: &Path, file: &str, text: &str) {
    let path = folder.join(file);
    std::fs::create_dir_all(path.parent().expect("below the folder")).expect("created");
    std::fs::write(path, text).expect("written");
}

/// Runs a command that has to end with `code`. The result is its standard error.
fn stderr(command: Command, code: i32) -> String {
    let output: Output = command.output().expect("it runs");
    let text = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(code), "{text}");
    text
}
