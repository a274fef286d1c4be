//! The test binaries that cargo built, and their tests.

use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

/// A test binary.
#[derive(Clone, Debug)]
pub struct Binary {
    /// The package, and the target if the package has several: `pointwork-core`, `pointwork-cli/snippets`.
    pub id: String,
    /// The options of `cargo test` that select this binary.
    pub selection: String,
    pub(crate) executable: PathBuf,
    package: String,
    /// The folder of the package, in which cargo runs the tests.
    pub(crate) folder: PathBuf,
    pub(crate) libraries: PathBuf,
}

/// A test of a binary.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Test {
    /// The number of its binary.
    pub(crate) binary: usize,
    /// Its name within the binary.
    pub(crate) name: String,
}

/// A message that `cargo test --no-run --message-format=json` prints.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Reads cargo's messages and returns the test binaries, without benchmarks and examples.
///
/// # Errors
/// If a line is not a message of cargo, or if the messages name no test binary.
pub fn read(messages: impl BufRead, libraries: &Path) -> Result<Vec<Binary>> {
    let mut binaries = Vec::new();
    for line in messages.lines() {
        let line = line?;
        let message: Message =
            serde_json::from_str(&line).with_context(|| format!("`{line}` is not a message of cargo"))?;
        let (Some(executable), Some(target), Some(manifest)) =
            (message.executable, message.target, message.manifest_path)
        else {
            continue;
        };
        let is_test = message.reason == "compiler-artifact" && message.profile.is_some_and(|profile| profile.test);
        if is_test && !target.kind.iter().any(|kind| kind == "bench" || kind == "example") {
            binaries.push(binary(executable, &target, &manifest, libraries)?);
        }
    }
    binaries.sort_by(|one, other| one.id.cmp(&other.id));
    ensure!(!binaries.is_empty(), "cargo built no test binary");
    Ok(binaries)
}

fn binary(executable: PathBuf, target: &Target, manifest: &Path, libraries: &Path) -> Result<Binary> {
    let package = package_name(manifest)?;
    let folder = manifest.parent().context("a manifest is in a folder")?;
    let (id, selection) = match target.kind.first().map(String::as_str) {
        Some("test") => (
            format!("{package}/{}", target.name),
            format!("-p {package} --test {}", target.name),
        ),
        Some("bin") => (
            format!("{package}/{}", target.name),
            format!("-p {package} --bin {}", target.name),
        ),
        _ => (package.clone(), format!("-p {package} --lib")),
    };
    Ok(Binary {
        id,
        selection,
        executable,
        package,
        folder: folder.to_owned(),
        libraries: libraries.to_owned(),
    })
}

fn package_name(manifest: &Path) -> Result<String> {
    #[derive(Deserialize)]
    struct Manifest {
        package: Package,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
    }
    let text = std::fs::read_to_string(manifest).with_context(|| manifest.display().to_string())?;
    let manifest: Manifest = toml::from_str(&text).with_context(|| manifest.display().to_string())?;
    Ok(manifest.package.name)
}

impl Binary {
    /// A command that runs the binary as cargo does: in the folder of its package, with cargo's variables and libraries. `CARGO` itself
    /// comes from the environment.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.executable);
        command
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("CARGO_PKG_NAME", &self.package)
            .env("LD_LIBRARY_PATH", &self.libraries);
        command
    }

    /// The names of its tests.
    ///
    /// # Errors
    /// If the binary does not answer `--list` as libtest does.
    pub(crate) fn list(&self) -> Result<Vec<String>> {
        let output = self.command().args(["--list", "--format", "terse"]).output();
        let output = output.with_context(|| format!("`{}` does not start", self.executable.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        ensure!(
            output.status.success(),
            "`{} --list` fails, expected one line per test as libtest prints it: {}\n{text}{}",
            self.id,
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    }
}
