//! The directory of a new project.

use std::io;
use std::path::{Path, PathBuf};

use glob::{MatchOptions, Pattern};

use crate::error::{Error, OrFailed, Result};

/// Checks that the directory is empty or does not exist.
pub(super) fn check_vacant(directory: &Path) -> Result<()> {
    let refuse = |path: &Path, what: &str| {
        Error::failed(format!("`{}` {what}", path.display())).with_hint("choose another directory with `--path DIR`")
    };
    if let Some(file) = directory.ancestors().find(|path| path.is_file()) {
        return Err(refuse(file, "is a file"));
    }
    match std::fs::read_dir(directory) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(refuse(directory, "is not empty")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => {
            Err(Error::failed(format!("cannot read the directory `{}`", directory.display())).with_source(error))
        }
    }
}

/// Checks that no workspace around the directory takes it for a member: a project is a workspace of its own, and cargo
/// allows none within another.
pub(super) fn check_surroundings(directory: &Path) -> Result<()> {
    let (existing, rest) = split(directory)?;
    let directory = existing.canonicalize().unwrap_or(existing).join(rest);
    for folder in directory.ancestors().skip(1) {
        let manifest = folder.join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).ok();
        let table = text.and_then(|text| text.parse::<toml::Table>().ok());
        let Some(workspace) = table.as_ref().and_then(|table| table.get("workspace")) else {
            continue;
        };
        // Cargo searches no further than the next workspace.
        let Ok(relative) = directory.strip_prefix(folder) else {
            break;
        };
        let has = |key: &str, matches: &dyn Fn(&str) -> bool| {
            let list = workspace.get(key).and_then(toml::Value::as_array);
            list.is_some_and(|list| list.iter().filter_map(toml::Value::as_str).any(matches))
        };
        let is_member = has("members", &|member| {
            Pattern::new(member).is_ok_and(|pattern| pattern.matches_path_with(relative, LIKE_CARGO))
        });
        if is_member && !has("exclude", &|path| relative.starts_with(path)) {
            let line = toml::Value::String(relative.display().to_string());
            let message = format!(
                "`{}` would be a member of the workspace `{}`",
                relative.display(),
                manifest.display()
            );
            return Err(Error::failed(message)
                .with_source("a project is a workspace of its own")
                .with_hint(format!(
                    "choose another directory with `--path DIR`, or exclude this one in the workspace:\n\n\
                 [workspace]\nexclude = [{line}]"
                )));
        }
        break;
    }
    Ok(())
}

/// `*` is one part of a path.
const LIKE_CARGO: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

/// Has `write` fill a hidden folder, and moves the content to the directory when it is complete: a failure leaves nothing.
pub(super) fn fill(directory: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
    let (existing, rest) = split(directory)?;
    let draft = tempfile::Builder::new().prefix(".pointwork-").tempdir_in(&existing);
    draft
        .and_then(|draft| {
            write(&draft.path().join(rest))?;
            for entry in std::fs::read_dir(draft.path())? {
                let entry = entry?;
                std::fs::rename(entry.path(), existing.join(entry.file_name()))?;
            }
            Ok(())
        })
        .or_failed(format_args!("cannot write `{}`", directory.display()))
}

/// The part of a path that exists, and the rest of it.
fn split(directory: &Path) -> Result<(PathBuf, PathBuf)> {
    let absolute =
        std::path::absolute(directory).or_failed(format_args!("cannot use the path `{}`", directory.display()))?;
    let existing = absolute.ancestors().find(|path| path.is_dir()).unwrap_or(&absolute);
    let rest = absolute.strip_prefix(existing).unwrap_or(Path::new(""));
    Ok((existing.to_owned(), rest.to_owned()))
}
