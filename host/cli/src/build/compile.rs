//! Runs cargo.

use std::io::{self, BufReader, IsTerminal as _, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{mem, thread};

use anstream::{AutoStream, ColorChoice};
use cargo_metadata::{CrateType, Message};
use parking_lot::Mutex;
#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process_group};

use super::BuildArgs;
use super::package::CargoPackage;
use super::toolchain::{TARGETS, cannot_run_cargo, cargo};
use crate::error::{Error, OrFailed, Result};

/// The cargo that runs. A command builds one package at a time.
static RUNNING: Mutex<Cargo> = Mutex::new(Cargo::Idle);

enum Cargo {
    Idle,
    Running(Child),
    /// The command ends, and begins no further build.
    Stopped,
}

/// Ends the cargo that runs, if there is one. No other one starts after it.
pub(crate) fn stop() {
    if let Cargo::Running(mut cargo) = mem::replace(&mut *RUNNING.lock(), Cargo::Stopped) {
        // It may have ended already.
        kill(&mut cargo);
        let _ = cargo.wait();
    }
}

/// Ends cargo with the compilers that it runs, which are in its process group.
fn kill(cargo: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(cargo.id()).ok().and_then(Pid::from_raw)
        && kill_process_group(group, Signal::KILL).is_ok()
    {
        return;
    }
    let _ = cargo.kill();
}

/// From now on cargo runs in a process group of its own: [`stop`] ends it with its compilers, and Ctrl-C in a
/// terminal does not reach cargo by itself.
pub(crate) fn run_in_process_group() {
    IN_PROCESS_GROUP.store(true, Ordering::Relaxed);
}

static IN_PROCESS_GROUP: AtomicBool = AtomicBool::new(false);

/// Writes what cargo says to standard error, also if nobody reads it any more.
fn forward(mut from: ChildStderr) {
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        let _ = io::stderr().write_all(&bytes[..length]);
    }
}

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

    #[cfg(unix)]
    if IN_PROCESS_GROUP.load(Ordering::Relaxed) {
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
    }
    // Cargo ends when it cannot write, and shows its progress on a terminal alone.
    if !io::stderr().is_terminal() {
        command.stderr(Stdio::piped());
    }
    let (stdout, stderr) = {
        let mut running = RUNNING.lock();
        if matches!(*running, Cargo::Stopped) {
            return Err(Error::failed("the command ends, and builds nothing any more"));
        }
        let mut child = command.spawn().map_err(cannot_run_cargo)?;
        let output = (child.stdout.take(), child.stderr.take());
        *running = Cargo::Running(child);
        output
    };
    let built = thread::scope(|scope| {
        stderr.map(|stderr| scope.spawn(move || forward(stderr)));
        stdout.map_or(Ok(None), |stdout| built_file(stdout, package))
    });
    let status = wait().or_failed("cannot wait for cargo")?;
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

/// Waits for cargo to end.
fn wait() -> io::Result<ExitStatus> {
    let mut running = RUNNING.lock();
    match &mut *running {
        Cargo::Running(child) => {
            let status = child.wait();
            *running = Cargo::Idle;
            status
        }
        Cargo::Idle | Cargo::Stopped => Err(io::ErrorKind::Interrupted.into()),
    }
}

/// Cargo writes its lock file when it has found every dependency.
const NO_DEPENDENCIES: &str = "cargo did not find every dependency; the first build needs a network, or a project in \
                               which `cargo vendor` was run on a machine with one";

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
