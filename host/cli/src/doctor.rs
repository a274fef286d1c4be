//! `pointwork doctor`: what is there for building and serving, and what is missing.

use std::fmt::Display;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pointwork_config::{Config, FILE_NAME, Module};
use pointwork_core::read_file;
use serde::Deserialize;

use crate::app;
use crate::build::{CONTROLLER_TARGET, toolchain};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serve::LISTEN;
use crate::ui::{DONE, ERROR, NOTE, Terminal, styled};

const EXAMPLES: &str = "\
Each line begins with `ok`, `missing` or `note`. A missing thing is followed by the way to get it;
then the exit code is not 0. A note is about something that this project does not need. In a
folder with a pointwork.toml its modules, its SDK and its address are checked too.

Examples:
  pointwork doctor
  pointwork doctor --config shop/pointwork.toml";

/// The oldest compiler that builds the SDK.
const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// The target of channel modules that need WASI.
const CHANNEL_TARGET: &str = "wasm32-wasip2";

/// The options of `pointwork doctor`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// Configuration of the project [default: pointwork.toml, if there is one]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Prints the findings, and remembers the first one that is missing.
struct Doctor<'a> {
    terminal: &'a mut Terminal,
    missing: usize,
    exit: Option<Exit>,
}

impl Doctor<'_> {
    fn ok(&mut self, text: impl Display) {
        self.terminal.line(format_args!("{}       {text}", styled(DONE, "ok")));
    }

    fn note(&mut self, text: impl Display) {
        self.terminal.line(format_args!("{}     {text}", styled(NOTE, "note")));
    }

    fn missing(&mut self, exit: Exit, text: impl Display, what_to_do: &str) {
        self.missing += 1;
        self.exit.get_or_insert(exit);
        self.terminal.line(format_args!("{}  {text}", styled(ERROR, "missing")));
        for line in what_to_do.lines() {
            self.terminal.line(format_args!("         {line}"));
        }
    }

    /// Something is missing, as a command that needs it would report.
    fn error(&mut self, error: &Error) {
        self.missing(
            error.exit(),
            pointwork_core::error_chain(error),
            error.hint().unwrap_or_default(),
        );
    }
}

pub(crate) fn run(args: &DoctorArgs, terminal: &mut Terminal) -> Result<()> {
    let mut doctor = Doctor {
        terminal,
        missing: 0,
        exit: None,
    };
    let file = args.config.as_deref().unwrap_or(Path::new(FILE_NAME));
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let config = (args.config.is_some() || file.exists()).then(|| Config::load(file).map_err(Error::from));
    let modules = config.iter().flatten().flat_map(|config| &config.modules);
    let targets: Vec<_> = modules.filter_map(|module| module.target.as_deref()).collect();
    tools(folder, targets.contains(&CHANNEL_TARGET), &mut doctor);
    match config {
        Some(Ok(config)) => project(&config, folder, &mut doctor),
        Some(Err(error)) => doctor.error(&error),
        None => doctor.note(format_args!(
            "no {FILE_NAME} here: no project was checked; `pointwork new NAME` creates one"
        )),
    }
    match doctor.exit {
        None => Ok(()),
        Some(exit) => {
            let (is, them) = if doctor.missing == 1 {
                ("thing is", "it")
            } else {
                ("things are", "them")
            };
            let message = format!("{} {is} missing", doctor.missing);
            Err(Error::new(exit, message).with_hint(format!("the lines below `missing` say how to get {them}")))
        }
    }
}

/// The tools that build a component. `channels` is whether the project has a module for [`CHANNEL_TARGET`].
fn tools(folder: &Path, channels: bool, doctor: &mut Doctor<'_>) {
    match version_of(Command::new(toolchain::cargo()), folder) {
        Ok(version) => doctor.ok(version),
        Err(error) => doctor.error(&toolchain::cannot_run_cargo(error)),
    }
    let compiler = match version_of(toolchain::rustc(), folder) {
        Ok(version) => version,
        Err(error) => return doctor.error(&toolchain::cannot_run_rustc(error)),
    };
    match number(&compiler) {
        Some(found) if found < number(RUST_VERSION).unwrap_or_default() => doctor.missing(
            Exit::MissingTool,
            format_args!("rustc {RUST_VERSION} or later: this is {compiler}"),
            "rustup update stable",
        ),
        _ => doctor.ok(format_args!("{compiler} (needed: {RUST_VERSION} or later)")),
    }
    let rustup = version_of(Command::new("rustup"), folder);
    for (target, modules, needed) in [
        (CONTROLLER_TARGET, "controllers", true),
        (CHANNEL_TARGET, "channel modules", channels),
    ] {
        match toolchain::is_installed(folder, target) {
            Ok(true) => doctor.ok(format_args!("target {target}, of {modules}")),
            Ok(false) if needed => {
                let text = format!("target {target}, of {modules}");
                doctor.missing(Exit::MissingTool, text, &toolchain::by_hand(target));
            }
            Ok(false) => doctor.note(format_args!(
                "target {target}, of {modules}, is not installed: rustup target add {target}"
            )),
            Err(error) => doctor.error(&error),
        }
    }
    match rustup {
        Ok(version) => doctor.ok(version),
        Err(_) => doctor.note("rustup is not installed: targets are added by hand, see https://rustup.rs"),
    }
}

/// The first line of `--version`.
fn version_of(mut command: Command, folder: &Path) -> std::io::Result<String> {
    let output = command
        .arg("--version")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let reason = errors.lines().find(|line| !line.trim().is_empty());
        let reason = reason.map_or_else(|| output.status.to_string(), str::to_owned);
        return Err(std::io::Error::other(reason));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The first two numbers of a version such as `rustc 1.95.0 (…)` or `1.95`.
fn number(version: &str) -> Option<(u32, u32)> {
    let start = version.find(|c: char| c.is_ascii_digit())?;
    let mut parts = version[start..].split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The project: its configuration, its SDK, its components and its address.
fn project(config: &Config, folder: &Path, doctor: &mut Doctor<'_>) {
    let file = config.file().display();
    match config.modules.len() {
        0 => doctor.note(format_args!("{file} lists no module")),
        1 => doctor.ok(format_args!("{file} lists 1 module")),
        count => doctor.ok(format_args!("{file} lists {count} modules")),
    }
    let mut checked = Vec::new();
    for module in &config.modules {
        if let Some(lock) = lock_of(module.build.as_deref().unwrap_or(folder)).filter(|lock| !checked.contains(lock)) {
            sdk(&lock, doctor);
            checked.push(lock);
        }
        component(module, app::largest(config), doctor);
    }
    let address = config.listen.as_ref().map_or(LISTEN, |listen| listen.as_str());
    match TcpListener::bind(address) {
        Ok(_) => doctor.ok(format_args!("address {address} is free")),
        Err(error) => doctor.missing(
            Exit::Address,
            format_args!("address {address} cannot be listened on: {error}"),
            "`pointwork serve --listen 127.0.0.1:0` takes a free port",
        ),
    }
}

/// The Cargo.lock of the package in a folder: there, or in the workspace around it.
fn lock_of(package: &Path) -> Option<PathBuf> {
    let package = package.canonicalize().ok()?;
    let mut locks = package.ancestors().map(|folder| folder.join("Cargo.lock"));
    locks.find(|lock| lock.is_file())
}

/// The versions of the SDK in a lock file. One of another contract would build components that this program refuses.
fn sdk(lock: &Path, doctor: &mut Doctor<'_>) {
    #[derive(Deserialize)]
    struct Lock {
        #[serde(default)]
        package: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
    }
    let own = env!("CARGO_PKG_VERSION");
    let text = std::fs::read_to_string(lock).unwrap_or_default();
    let packages = toml::from_str::<Lock>(&text)
        .map(|lock| lock.package)
        .unwrap_or_default();
    for found in packages.iter().filter(|package| package.name == "pointwork-guest") {
        let version = &found.version;
        if number(version) == number(own) {
            doctor.ok(format_args!(
                "pointwork-guest {version}, of the contract of pointwork {own}"
            ));
        } else {
            doctor.missing(
                Exit::Failed,
                format_args!("pointwork-guest {own}: {} has {version}", lock.display()),
                "depend on the version of the SDK that belongs to this program, or install the program of that version",
            );
        }
    }
}

/// The component of a module: it is there, or can be built, and fits the contract.
fn component(module: &Module, largest: u64, doctor: &mut Doctor<'_>) {
    let (name, path) = (&module.name, module.path.display());
    let bytes = match read_file(&module.path, largest) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return match &module.build {
                Some(package) if package.exists() => doctor.note(format_args!(
                    "module `{name}` is not built yet: `pointwork serve` builds {path}"
                )),
                Some(package) => doctor.missing(
                    Exit::Config,
                    format_args!("package {} of module `{name}`", package.display()),
                    "name its folder in `build`",
                ),
                None => doctor.missing(
                    Exit::Failed,
                    format_args!("component {path} of module `{name}`"),
                    "`pointwork build` builds one from a cargo package; `build = \"FOLDER\"` has `serve` build it",
                ),
            };
        }
        Err(error) => {
            let what_to_do = "name a component that this user may read";
            let text = format!("component {path} of module `{name}` cannot be read: {error}");
            return doctor.missing(Exit::Failed, text, what_to_do);
        }
    };
    let checked = pointwork::inspect(&bytes).and_then(|inspection| inspection.check().map(|_| inspection));
    match checked {
        Ok(inspection) => doctor.ok(format_args!(
            "module `{name}`: {path} fits the contract {}",
            inspection.contract_version().unwrap_or_default()
        )),
        Err(error) => {
            let error = Error::refused_because(format!("module `{name}`: {path} does not fit the contract"), error);
            doctor.error(&error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(number("rustc 1.95.0 (abc 2026-01-01)"), Some((1, 95)));
        assert_eq!(number("1.100"), Some((1, 100)));
        assert!(number("1.100") > number("1.95.0-nightly"));
        assert_eq!(number("rustc"), None);
        assert!(number(RUST_VERSION).is_some());
    }
}
