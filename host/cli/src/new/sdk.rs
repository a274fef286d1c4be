//! The SDK of a project: a copy in the project, or the folder of a developer of the SDK.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, OrFailed, Result};
use crate::ui::{DONE, Terminal, styled};

const PACKAGE: &str = "pointwork-guest";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The folder of the copy in a project.
const VENDORED: &str = "vendor/pointwork-guest";

/// The copy: paths and texts, packed by `build.rs`.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sdk.rs"));
const README: &str = include_str!("template/vendor.md.in");

/// The source of `pointwork-guest` for a new project.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sdk {
    /// A copy in the project, so that it builds on every machine.
    Vendored,
    /// A folder elsewhere, absolute.
    Folder(PathBuf),
}

impl Sdk {
    /// The folder of the user, else a copy.
    pub(super) fn locate(folder: Option<&Path>) -> Result<Self> {
        let Some(path) = folder else {
            return Ok(Self::Vendored);
        };
        let absolute = path
            .canonicalize()
            .or_failed(format_args!("cannot find the SDK `{}`", path.display()))?;
        if version(&absolute).is_none() {
            return Err(
                Error::failed(format!("`{}` is not the package `{PACKAGE}`", path.display()))
                    .with_hint("name the folder `guest/rust` of a checkout of Pointwork"),
            );
        }
        Ok(Self::Folder(absolute))
    }

    /// Its path in the manifest of a project.
    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Vendored => VENDORED.into(),
            Self::Folder(path) => path.clone(),
        }
    }

    /// The root of the checkout that contains it, where the crates of the host are.
    pub(super) fn checkout(&self) -> Result<PathBuf> {
        const HINT: &str = "until there is a release, the project uses the crates of a clone:\n\
                            git clone https://github.com/pointwork/pointwork\n\
                            pointwork new NAME --template host --sdk-path pointwork/guest/rust";
        let Self::Folder(folder) = self else {
            return Err(Error::failed(
                "the template `host` needs `--sdk-path`, the folder `guest/rust` in a clone of Pointwork",
            )
            .with_hint(HINT));
        };
        let root = folder.ancestors().nth(2);
        root.filter(|root| root.join("host/runtime/Cargo.toml").is_file())
            .map(Path::to_owned)
            .ok_or_else(|| {
                Error::failed(format!("`{}` is not in a checkout of Pointwork", folder.display())).with_hint(HINT)
            })
    }

    /// Writes the copy into a project, if it gets one.
    pub(super) fn write(&self, project: &Path) -> io::Result<()> {
        match self {
            Self::Vendored => write(&project.join(VENDORED)),
            Self::Folder(_) => Ok(()),
        }
    }
}

/// The options of `pointwork vendor`.
#[derive(Debug, clap::Args)]
pub(crate) struct VendorArgs {
    /// Directory of the project
    #[arg(default_value = ".", value_name = "DIR")]
    path: PathBuf,
}

/// Replaces the copy in a project by that of this program, or adds one.
pub(crate) fn vendor(args: &VendorArgs, terminal: &mut Terminal) -> Result<()> {
    if !args.path.join("Cargo.toml").is_file() {
        let message = format!(
            "`{}` is not a cargo project: expected a Cargo.toml there",
            args.path.display()
        );
        return Err(Error::failed(message));
    }
    let place = args.path.join(VENDORED);
    let before = version(&place);
    if before.is_none() && place.exists() {
        let message = format!("`{}` is not the package `{PACKAGE}`", place.display());
        return Err(Error::failed(message).with_hint("it would be replaced; move it elsewhere first"));
    }
    replace(&place).or_failed(format_args!("cannot write `{}`", place.display()))?;
    terminal.line(format_args!(
        "{} {PACKAGE} {VERSION} in {}",
        styled(DONE, "vendored"),
        place.display()
    ));
    match before {
        Some(before) => terminal.note(format_args!("the copy before was {before}")),
        None => terminal.note(format_args!(
            "the manifest of the project needs these lines:\n\n\
             [workspace]\nexclude = [\"vendor\"]\n\n[dependencies]\n{PACKAGE} = {{ path = \"{VENDORED}\" }}"
        )),
    }
    Ok(())
}

/// Writes a new copy beside the old one, and then takes its place.
fn replace(place: &Path) -> io::Result<()> {
    let parent = place.parent().unwrap_or(place);
    std::fs::create_dir_all(parent)?;
    let draft = tempfile::Builder::new().prefix(".pointwork-").tempdir_in(parent)?;
    let (new, old) = (draft.path().join("new"), draft.path().join("old"));
    write(&new)?;
    if place.exists() {
        std::fs::rename(place, &old)?;
    }
    std::fs::rename(&new, place).inspect_err(|_| {
        // The first error is reported.
        let _ = std::fs::rename(&old, place);
    })
}

fn write(folder: &Path) -> io::Result<()> {
    super::write(&folder.join("README.md"), &README.replace("@VERSION@", VERSION))?;
    // `cargo fmt --all` formats path dependencies too.
    super::write(&folder.join("rustfmt.toml"), "disable_all_formatting = true\n")?;
    FILES
        .iter()
        .try_for_each(|(path, text)| super::write(&folder.join(path), text))
}

/// The version of the SDK in a folder; `None` if it is not the SDK.
fn version(folder: &Path) -> Option<String> {
    let manifest: toml::Table = std::fs::read_to_string(folder.join("Cargo.toml")).ok()?.parse().ok()?;
    let package = manifest.get("package")?;
    // In a checkout the workspace has the version.
    let version = package
        .get("version")
        .and_then(toml::Value::as_str)
        .unwrap_or("that of a checkout");
    (package.get("name")?.as_str()? == PACKAGE).then(|| version.to_owned())
}
