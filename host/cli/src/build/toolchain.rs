//! The compiler's WebAssembly target: is it there, and if not, can it be added?

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::ui::Terminal;

/// Sees to it that the compiler has the standard library of `target`, with rustup's help where there is a rustup.
///
/// `directory` is where the package lies: a toolchain file there decides which compiler is asked.
pub(super) fn ensure_target(directory: &Path, target: &str, terminal: &mut Terminal) -> Result<()> {
    if is_installed(directory, target)? {
        return Ok(());
    }
    terminal.note(format_args!(
        "the compiler lacks the target {target}; adding it with rustup"
    ));
    let added = Command::new("rustup")
        .args(["target", "add", target])
        .current_dir(directory)
        .stdin(Stdio::null())
        // Standard output is for what `build` itself was asked for.
        .stdout(io::stderr())
        .status();
    match added {
        Ok(status) if status.success() && is_installed(directory, target)? => Ok(()),
        Ok(status) if status.success() => Err(missing(target).with_hint(format!(
            "rustup added it to another toolchain than the one that `rustc` in PATH belongs to\n{}",
            by_hand(target)
        ))),
        Ok(status) => Err(missing(target)
            .with_source(format!("`rustup target add {target}` failed with {status}"))
            .with_hint(format!(
                "without a network, run it where there is one and copy the toolchain\n{}",
                by_hand(target)
            ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing(target)
            .with_source("there is no rustup to add it with")
            .with_hint(by_hand(target))),
        Err(error) => Err(missing(target)
            .with_source(Error::failed("cannot run `rustup`").with_source(error))
            .with_hint(by_hand(target))),
    }
}

/// Asks the compiler where it would look for the target's libraries. It answers for targets that are not installed, too.
fn is_installed(directory: &Path, target: &str) -> Result<bool> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let output = Command::new(&rustc)
        .args(["--print", "target-libdir", "--target", target])
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            Error::new(
                Exit::MissingTool,
                format!("cannot run the Rust compiler `{}`", rustc.display()),
            )
            .with_source(error)
            .with_hint("install Rust as https://rustup.rs says, or name the compiler in RUSTC")
        })?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        let reason = reason
            .lines()
            .find(|line| !line.trim().is_empty())
            .unwrap_or("it does not say why");
        return Err(
            Error::failed(format!("the Rust compiler does not take the target `{target}`"))
                .with_source(reason.trim_start_matches("error: ").to_owned())
                .with_hint("controllers are built for `wasm32-unknown-unknown`, channel modules for `wasm32-wasip2`"),
        );
    }
    let libraries = String::from_utf8_lossy(&output.stdout);
    // An empty directory is what a removed target leaves behind.
    Ok(std::fs::read_dir(libraries.trim()).is_ok_and(|mut entries| entries.next().is_some()))
}

fn missing(target: &str) -> Error {
    Error::new(
        Exit::MissingTool,
        format!("the compiler's target `{target}` is missing and could not be added"),
    )
}

/// How to get the target without us.
fn by_hand(target: &str) -> String {
    let mut text = format!("with rustup:            rustup target add {target}");
    let distributions: &[(&str, &str)] = match target {
        "wasm32-unknown-unknown" => &[
            ("on Debian and Ubuntu:", "apt install libstd-rust-dev-wasm32"),
            ("on Fedora:", "dnf install rust-std-static-wasm32-unknown-unknown"),
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
