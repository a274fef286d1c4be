//! Cargo, the compiler and its WebAssembly target.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pointwork_config::Module;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::toolchains::findings::{Findings, number, version_of};
use crate::toolchains::language::BuildOptions;
use crate::ui::Terminal;

/// The oldest compiler that builds the SDK.
const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// The target of controllers. What the standard library imports there, the adapter answers by the contract, so that the
/// component imports no WASI and the sandbox has nothing to grant.
const CONTROLLER_TARGET: &str = "wasm32-wasip1";

/// The target of channel modules that need WASI.
const CHANNEL_TARGET: &str = "wasm32-wasip2";

pub(super) fn target(options: &BuildOptions) -> &str {
    options.target.as_deref().unwrap_or(CONTROLLER_TARGET)
}

/// The hint for a target that does not fit.
pub(super) const TARGETS: &str =
    "controllers are built for `wasm32-wasip1`, channel modules that need WASI for `wasm32-wasip2`";

/// Ensures that the compiler has the standard library of `target`; if not, rustup adds it.
///
/// `directory` is that of the package: a toolchain file there chooses the compiler.
pub(super) fn ensure_target(directory: &Path, target: &str, terminal: &mut Terminal) -> Result<()> {
    // rustup breaks off when two of it add a target, and a target that another adds at this moment looks complete.
    let libraries = libraries(directory, target)?;
    let toolchain = libraries
        .ancestors()
        .nth(2)
        .and_then(|rustlib| File::open(rustlib).ok());
    let _until_it_is_there = toolchain.as_ref().map(File::lock);
    if has_entries(&libraries) {
        return Ok(());
    }
    terminal.note(format_args!(
        "the compiler lacks the target {target}; adding it with rustup"
    ));
    let added = Command::new("rustup")
        .args(["target", "add", target])
        .current_dir(directory)
        .stdin(Stdio::null())
        // Standard output is for the result of `build`.
        .stdout(io::stderr())
        .status();
    let missing = |hint: &str| {
        let message = format!("the compiler's target `{target}` is missing and could not be added");
        Error::new(Exit::MissingTool, message).with_hint(format!("{hint}{}", by_hand(target)))
    };
    match added {
        Ok(status) if status.success() && is_installed(directory, target)? => Ok(()),
        Ok(status) if status.success() => Err(missing(
            "rustup added it to another toolchain than that of the `rustc` in PATH\n",
        )),
        Ok(status) => Err(
            missing("without a network, run it on a machine with one and copy the toolchain\n")
                .with_source(format!("`rustup target add {target}` failed with {status}")),
        ),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(missing("").with_source("rustup, which could add it, is not installed"))
        }
        Err(error) => Err(missing("").with_source(Error::failed("cannot run `rustup`").with_source(error))),
    }
}

/// Whether the compiler has the libraries of the target.
fn is_installed(directory: &Path, target: &str) -> Result<bool> {
    Ok(has_entries(&libraries(directory, target)?))
}

/// A removed target leaves an empty directory behind.
fn has_entries(libraries: &Path) -> bool {
    std::fs::read_dir(libraries).is_ok_and(|mut entries| entries.next().is_some())
}

/// The directory with the libraries of the target. The compiler prints it for missing targets, too.
fn libraries(directory: &Path, target: &str) -> Result<PathBuf> {
    let output = rustc()
        .args(["--print", "target-libdir", "--target", target])
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(cannot_run_rustc)?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        let reason = reason.lines().find(|line| !line.trim().is_empty());
        let reason = reason.unwrap_or("it gives no reason").trim_start_matches("error: ");
        return Err(
            Error::failed(format!("the Rust compiler does not know the target `{target}`"))
                .with_source(reason)
                .with_hint(TARGETS),
        );
    }
    let libraries = String::from_utf8_lossy(&output.stdout);
    Ok(libraries.trim().into())
}

/// The compiler in `RUSTC`, otherwise the one in PATH.
fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
}

fn cannot_run_rustc(error: io::Error) -> Error {
    let rustc = rustc();
    let message = format!("cannot run the Rust compiler `{}`", rustc.get_program().display());
    Error::new(Exit::MissingTool, message)
        .with_source(error)
        .with_hint("install Rust from https://rustup.rs, or name the compiler in RUSTC")
}

/// The commands that add a target.
fn by_hand(target: &str) -> String {
    let mut text = format!("with rustup:            rustup target add {target}");
    let distributions: &[(&str, &str)] = match target {
        "wasm32-wasip1" => &[
            ("on Debian and Ubuntu:", "apt install libstd-rust-dev-wasm32"),
            ("on Fedora:", "dnf install rust-std-static-wasm32-wasip1"),
            ("on Arch Linux:", "pacman -S rust-wasm"),
            ("on Alpine:", "apk add rust-wasm"),
        ],
        _ => &[],
    };
    for (system, command) in distributions {
        text.push_str(&format!("\n{system:<23} {command}"));
    }
    text
}

/// The cargo in `CARGO`, which `cargo run` sets so that both use the same toolchain; otherwise the one in PATH.
pub(super) fn cargo() -> OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

pub(super) fn cannot_run_cargo(error: io::Error) -> Error {
    Error::new(Exit::MissingTool, format!("cannot run `{}`", cargo().display()))
        .with_source(error)
        .with_hint("install Rust from https://rustup.rs, or name cargo in CARGO")
}

/// Reports the tools that build a component in this folder.
pub(super) fn report(folder: &Path, modules: &[&Module], findings: &mut Findings<'_>) {
    match version_of(Command::new(cargo()), folder) {
        Ok(version) => findings.ok(version),
        Err(error) => findings.error(&cannot_run_cargo(error)),
    }
    let compiler = match version_of(rustc(), folder) {
        Ok(version) => version,
        Err(error) => return findings.error(&cannot_run_rustc(error)),
    };
    match number(&compiler) {
        Some(found) if found < number(RUST_VERSION).unwrap_or_default() => findings.missing(
            Exit::MissingTool,
            format_args!("rustc {RUST_VERSION} or later: this is {compiler}"),
            "rustup update stable",
        ),
        _ => findings.ok(format_args!("{compiler} (needed: {RUST_VERSION} or later)")),
    }
    let rustup = version_of(Command::new("rustup"), folder);
    let has_channels = modules
        .iter()
        .any(|module| module.target.as_deref() == Some(CHANNEL_TARGET));
    for (target, modules, needed) in [
        (CONTROLLER_TARGET, "controllers", true),
        (CHANNEL_TARGET, "channel modules", has_channels),
    ] {
        match is_installed(folder, target) {
            Ok(true) => findings.ok(format_args!("target {target}, of {modules}")),
            Ok(false) if needed => {
                let text = format!("target {target}, of {modules}");
                findings.missing(Exit::MissingTool, text, &by_hand(target));
            }
            Ok(false) => findings.note(format_args!(
                "target {target}, of {modules}, is not installed: rustup target add {target}"
            )),
            Err(error) => findings.error(&error),
        }
    }
    match rustup {
        Ok(version) => findings.ok(version),
        Err(_) => findings.note("rustup is not installed: targets are added by hand, see https://rustup.rs"),
    }
}
