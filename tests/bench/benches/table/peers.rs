//! Servers of other projects. They are installed in the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context as _, Result, ensure};
use pointwork_bench::{component, target};

const WASMTIME: &str = "48.0.8";

/// `wasmtime serve` with the guest of that name. Its build takes a quarter of an hour, so it is not installed by this program.
pub(crate) fn wasmtime(guest: &str) -> Result<Command> {
    let own = target()?.join("peers");
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders = env::split_paths(&path).chain([own.join("bin")]);
    let program = folders.find_map(|folder| Some(folder.join("wasmtime")).filter(|program| program.is_file()));
    let program = program.with_context(|| {
        let root = own.display();
        format!("`wasmtime` is missing: cargo install --locked wasmtime-cli@{WASMTIME} --root {root}")
    })?;
    // It prints its address on the standard error.
    let mut command = Command::new("sh");
    command.args(["-c", r#"exec "$@" 2>&1"#, "sh"]).arg(program);
    // The standard library of Rust imports what the command has.
    command.args(["serve", "--addr", "127.0.0.1:0", "-Scli"]);
    if guest == "p3" {
        command.args(["-Wcomponent-model-async", "-Sp3"]);
    }
    command.arg(component(guest)?);
    Ok(command)
}

pub(crate) fn nest() -> Result<Command> {
    let folder = target()?.join("peers/nest");
    installed(&folder, "package.json", || {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund"])
            .current_dir(&folder);
        vec![npm]
    })?;
    // Modules are looked up beside the file that imports them.
    let script = folder.join("nest.mjs");
    fs::copy(sources().join("nest.mjs"), &script)?;
    let mut command = Command::new("node");
    command.arg(script).env("NODE_ENV", "production");
    Ok(command)
}

pub(crate) fn fastapi() -> Result<Command> {
    let folder = target()?.join("peers/fastapi");
    let python = folder.join("venv/bin/python");
    installed(&folder, "requirements.txt", || {
        let mut venv = Command::new("python3");
        venv.args(["-m", "venv", "--clear", "venv"]).current_dir(&folder);
        let mut pip = Command::new(&python);
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            "requirements.txt",
        ]);
        pip.current_dir(&folder);
        vec![venv, pip]
    })?;
    let mut command = Command::new(python);
    command.arg(sources().join("fastapi_items.py"));
    Ok(command)
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// Installs what the file of requirements names, unless it is there.
fn installed(folder: &Path, requirements: &str, install: impl FnOnce() -> Vec<Command>) -> Result<()> {
    let wanted = fs::read_to_string(sources().join(requirements))?;
    let done = folder.join("installed");
    if fs::read_to_string(&done).is_ok_and(|done| done == wanted) {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    fs::write(folder.join(requirements), &wanted)?;
    for mut command in install() {
        let status = command
            .status()
            .with_context(|| format!("{command:?} does not start"))?;
        ensure!(status.success(), "{command:?} failed");
    }
    Ok(fs::write(done, wanted)?)
}
