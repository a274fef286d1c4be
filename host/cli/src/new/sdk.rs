//! The SDK of a project: a copy in the project, or the folder of a developer of the SDK.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, OrFailed, Result};
use crate::toolchains::{self, Sdk};
use crate::ui::{DONE, Terminal, styled};

/// The folder that the user names, absolute.
pub(super) fn locate(path: &Path, sdk: &Sdk) -> Result<PathBuf> {
    let absolute = path
        .canonicalize()
        .or_failed(format_args!("cannot find the SDK `{}`", path.display()))?;
    if (sdk.version)(&absolute).is_none() {
        return Err(no_sdk(path, sdk).with_hint(format!("name the folder `{}` of a checkout of Pointwork", sdk.folder)));
    }
    Ok(absolute)
}

fn no_sdk(path: &Path, sdk: &Sdk) -> Error {
    Error::failed(format!("`{}` is not the package `{}`", path.display(), sdk.package))
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
    let (language, manifest) = toolchains::at(&args.path)?;
    let sdk = &language.sdk;
    let place = manifest.with_file_name(sdk.vendored);
    let before = (sdk.version)(&place);
    if before.is_none() && place.exists() {
        return Err(no_sdk(&place, sdk).with_hint("it would be replaced; move it elsewhere first"));
    }
    replace(&place, sdk).or_failed(format_args!("cannot write `{}`", place.display()))?;
    terminal.line(format_args!(
        "{} {} {} in {}",
        styled(DONE, "vendored"),
        sdk.package,
        env!("CARGO_PKG_VERSION"),
        place.display()
    ));
    match before {
        Some(before) => terminal.note(format_args!("the copy before was {before}")),
        None => terminal.note(format_args!(
            "the manifest of the project needs these lines:\n\n{}",
            sdk.lines
        )),
    }
    Ok(())
}

/// Writes a new copy beside the old one, and then takes its place.
fn replace(place: &Path, sdk: &Sdk) -> io::Result<()> {
    let parent = place.parent().unwrap_or(place);
    std::fs::create_dir_all(parent)?;
    let draft = tempfile::Builder::new().prefix(".pointwork-").tempdir_in(parent)?;
    let (new, old) = (draft.path().join("new"), draft.path().join("old"));
    write(&new, sdk)?;
    if place.exists() {
        std::fs::rename(place, &old)?;
    }
    std::fs::rename(&new, place).inspect_err(|_| {
        // The first error is reported.
        let _ = std::fs::rename(&old, place);
    })
}

/// Writes the copy to a folder.
pub(super) fn write(folder: &Path, sdk: &Sdk) -> io::Result<()> {
    sdk.copy
        .iter()
        .try_for_each(|(path, text)| super::write(&folder.join(path), text))
}
