//! The source of `pointwork-guest` for a new project.
//!
//! A released `pointwork` uses the version that was released with it. One that was built from a checkout uses the SDK of
//! that checkout, since the two may depend on each other. The path of the running program decides. The program does not
//! contain the path of the machine that built it, so that a copied binary does not search for folders of another machine.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::{Error, OrFailed, Result};

const PACKAGE: &str = "pointwork-guest";

/// The folder of the SDK in a checkout.
const SDK_FOLDER: &str = "guest/rust";

/// The source of `pointwork-guest`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SdkSource {
    /// The registry, in this version.
    Version(&'static str),
    /// A folder, absolute.
    Path(PathBuf),
}

impl SdkSource {
    /// The right-hand side of a dependency line, with an optional feature.
    pub(super) fn dependency(&self, feature: Option<&str>) -> String {
        let (key, value) = match self {
            Self::Version(version) => ("version", (*version).to_owned()),
            Self::Path(path) => ("path", path.to_string_lossy().into_owned()),
        };
        let features = feature
            .map(|feature| format!(", features = [\"{feature}\"]"))
            .unwrap_or_default();
        format!("{{ {key} = {}{features} }}", toml::Value::String(value))
    }
}

/// The folder of the user, else the checkout that this program was built in or installed from, else the registry.
pub(super) fn source(folder: Option<&Path>) -> Result<SdkSource> {
    if let Some(path) = folder {
        let absolute = path
            .canonicalize()
            .or_failed(format_args!("cannot find the SDK `{}`", path.display()))?;
        if !is_sdk(&absolute) {
            return Err(
                Error::failed(format!("`{}` is not the package `{PACKAGE}`", path.display()))
                    .with_hint("name the folder `guest/rust` of a checkout of Pointwork"),
            );
        }
        return Ok(SdkSource::Path(absolute));
    }
    let program = env::current_exe().and_then(|path| path.canonicalize()).ok();
    let found = program
        .as_deref()
        .and_then(|program| checkout_around(program).or_else(|| installed_from(program)));
    Ok(found.map_or(SdkSource::Version(env!("CARGO_PKG_VERSION")), SdkSource::Path))
}

/// The SDK of the checkout whose target directory holds the program.
fn checkout_around(program: &Path) -> Option<PathBuf> {
    program
        .ancestors()
        .skip(1)
        .map(|folder| folder.join(SDK_FOLDER))
        .find(|folder| is_sdk(folder))
}

/// The SDK of the checkout that `cargo install --path` used. Cargo records it beside the folder of installed programs.
fn installed_from(program: &Path) -> Option<PathBuf> {
    let record = std::fs::read_to_string(program.parent()?.parent()?.join(".crates.toml")).ok()?;
    let package = installed_package(&record, program.file_name()?.to_str()?)?;
    checkout_around(&package.join("Cargo.toml"))
}

/// The folder of a package by cargo's record of installed programs: `"name version (source)" = ["program"]`.
fn installed_package(record: &str, program: &str) -> Option<PathBuf> {
    let record: toml::Table = record.parse().ok()?;
    let is_program = |name: &toml::Value| name.as_str() == Some(program);
    let mut packages = record.get("v1")?.as_table()?.iter();
    let (package, _) =
        packages.find(|(_, programs)| programs.as_array().is_some_and(|list| list.iter().any(is_program)))?;
    let source = package.split_once("(path+file://")?.1.strip_suffix(')')?;
    // The path of a URL is percent-encoded.
    let path = percent_encoding::percent_decode_str(source).decode_utf8().ok()?;
    Some(PathBuf::from(path.into_owned()))
}

fn is_sdk(folder: &Path) -> bool {
    let is_named = || {
        let manifest: toml::Table = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?.parse().ok()?;
        Some(manifest.get("package")?.get("name")?.as_str()? == PACKAGE)
    };
    is_named().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkout() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(folder.path().join(SDK_FOLDER)).expect("created");
        std::fs::create_dir_all(folder.path().join("target/release")).expect("created");
        std::fs::write(
            folder.path().join("guest/rust/Cargo.toml"),
            "[package]\nname = \"pointwork-guest\"\n",
        )
        .expect("written");
        folder
    }

    #[test]
    fn program_in_a_checkout_finds_its_sdk() {
        let folder = checkout();
        let found = checkout_around(&folder.path().join("target/release/pointwork"));
        assert_eq!(found, Some(folder.path().join(SDK_FOLDER)));
    }

    #[test]
    fn program_elsewhere_finds_none() {
        let folder = tempfile::tempdir().expect("a directory");
        assert_eq!(checkout_around(&folder.path().join("bin/pointwork")), None);
        assert_eq!(installed_from(&folder.path().join("bin/pointwork")), None);
    }

    #[test]
    fn program_installed_from_a_checkout_finds_its_sdk() {
        let folder = checkout();
        let home = tempfile::tempdir().expect("a directory");
        let record = format!(
            "[v1]\n\"ripgrep 14.0.0 (registry+https://github.com/rust-lang/crates.io-index)\" = [\"rg\"]\n\
             \"pointwork-cli 0.1.0 (path+file://{}/host/cli)\" = [\"pointwork\"]\n",
            folder.path().display()
        );
        std::fs::write(home.path().join(".crates.toml"), record).expect("written");
        assert_eq!(
            installed_from(&home.path().join("bin/pointwork")),
            Some(folder.path().join(SDK_FOLDER))
        );
    }

    #[test]
    fn dependency_is_one_line_of_toml() {
        assert_eq!(SdkSource::Version("0.1.0").dependency(None), r#"{ version = "0.1.0" }"#);
        assert_eq!(
            SdkSource::Path("/a \"b\"".into()).dependency(Some("testing")),
            r#"{ path = '/a "b"', features = ["testing"] }"#
        );
    }
}
