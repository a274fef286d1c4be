//! The languages of modules. Each has a folder with its toolchain; the commands know a [`Language`] and a [`Project`] only.
//!
//! A further language needs a folder with its [`Language`], and a place in [`LANGUAGES`].

mod findings;
mod language;
mod packed;
mod process;
mod python;
mod rust;
mod sources;
mod ts;

use std::path::{Path, PathBuf};

use pointwork_config::{Module, suggest};

pub(crate) use self::findings::{Findings, number};
pub(crate) use self::language::{BuildOptions, Component, Draft, Language, Project, Sdk, Template};
pub(crate) use self::process::{run_in_process_group, stop};
pub(crate) use self::sources::rule as list_of_sources;
use crate::error::{Error, OrFailed, Result};
use crate::ui::{Terminal, relative};

/// The languages, by precedence: a folder with several manifests is a project of the first.
pub(crate) static LANGUAGES: &[Language] = &[rust::RUST, ts::TYPESCRIPT, python::PYTHON];

/// The names of all languages, for `pointwork new --lang`.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    LANGUAGES.iter().flat_map(|language| language.names).copied()
}

/// The language of the project at `path`, a directory or a manifest, and the path of the manifest. Directories above it are
/// not searched.
pub(crate) fn at(path: &Path) -> Result<(&'static Language, PathBuf)> {
    path.metadata()
        .or_failed(format_args!("cannot find `{}`", path.display()))?;
    let mut manifests = LANGUAGES
        .iter()
        .map(|language| match path.ends_with(language.manifest) {
            true => (language, path.to_owned()),
            false => (language, path.join(language.manifest)),
        });
    manifests.find(|(_, manifest)| manifest.is_file()).ok_or_else(|| {
        let manifests = suggest::list(LANGUAGES.iter().map(|language| language.manifest), "or");
        let message = format!("`{}` is not a project: expected a {manifests} there", path.display());
        Error::failed(message).with_hint("name the project's directory, or create a project with `pointwork new NAME`")
    })
}

/// The languages of the modules that are built, or all if none is known, each with its modules.
pub(crate) fn used_by(modules: &[Module]) -> Vec<(&'static Language, Vec<&Module>)> {
    let of = |module: &Module| Some(at(module.build.as_deref()?).ok()?.0.manifest);
    let is_known = modules.iter().any(|module| of(module).is_some());
    let each = LANGUAGES.iter().map(|language| {
        let own = modules.iter();
        let own = own.filter(|module| !is_known || of(module) == Some(language.manifest));
        (language, own.collect::<Vec<_>>())
    });
    each.filter(|(_, own)| !is_known || !own.is_empty()).collect()
}

/// Finds the project at `path`, a directory or a manifest, or the package of this name in it. Ensures that its tools are
/// there.
pub(crate) fn find(
    path: &Path,
    package: Option<&str>,
    options: &BuildOptions,
    terminal: &mut Terminal,
) -> Result<Project> {
    let (language, manifest) = at(path)?;
    let manifest = manifest
        .canonicalize()
        .or_failed(format_args!("cannot find `{}`", manifest.display()))?;
    (language.find)(&manifest, package, options, terminal)
}

/// A source of the project that changed after the component was built.
pub(crate) fn newer_source(project: &Path, component: &Path) -> Option<PathBuf> {
    let own = at(project).into_iter().flat_map(|(language, manifest)| {
        let names = language.own.iter();
        names.map(move |name| manifest.with_file_name(name))
    });
    sources::newer(component, own)
}

/// A path in a sentence.
fn shown(folder: &Path) -> String {
    match relative(folder).display().to_string() {
        text if text.is_empty() => ".".to_owned(),
        text => text,
    }
}

/// Folders without sources. Hidden folders have none either, unless they are settings.
const IGNORED: &[&str] = &["__pycache__", "node_modules", "target"];

/// Whether a folder holds no sources of any language.
pub(crate) fn is_ignored(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let is_setting = || LANGUAGES.iter().any(|language| language.is_setting(folder));
    IGNORED.contains(&&*name) || name.starts_with('.') && !is_setting()
}
