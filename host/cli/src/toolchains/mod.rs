//! The languages of modules. Each has a folder with its toolchain; the commands know a [`Language`] and a [`Project`] only.
//!
//! A further language needs a folder with its [`Language`], and a place in [`LANGUAGES`].

mod findings;
mod language;
mod process;
mod rust;
mod sources;

use std::path::{Path, PathBuf};

use pointwork_config::{Module, suggest};

pub(crate) use self::findings::{Findings, number};
pub(crate) use self::language::{BuildOptions, Component, Language, Project, Sdk, Template};
pub(crate) use self::process::{run_in_process_group, stop};
pub(crate) use self::sources::rule as list_of_sources;
use crate::error::{Error, OrFailed, Result};
use crate::ui::Terminal;

/// The languages, by precedence: a folder with several manifests is a project of the first.
pub(crate) static LANGUAGES: &[Language] = &[rust::RUST];

/// The language of the project at `path`, a directory or a manifest, and the path of the manifest. Directories above it are
/// not searched.
pub(crate) fn at(path: &Path) -> Option<(&'static Language, PathBuf)> {
    LANGUAGES.iter().find_map(|language| {
        let is_manifest = path.ends_with(language.manifest);
        let manifest = if is_manifest { path.to_owned() } else { path.join(language.manifest) };
        manifest.is_file().then_some((language, manifest))
    })
}

/// The languages of the modules that are built, or all if none is known, each with its modules.
pub(crate) fn used_by(modules: &[Module]) -> Vec<(&'static Language, Vec<&Module>)> {
    let is_of = |module: &Module, language: &Language| {
        let found = module.build.as_deref().and_then(at);
        found.is_some_and(|(found, _)| found.manifest == language.manifest)
    };
    let each = LANGUAGES.iter().map(|language| {
        let modules = modules.iter().filter(|module| is_of(module, language));
        (language, modules.collect::<Vec<_>>())
    });
    let used: Vec<_> = each.filter(|(_, modules)| !modules.is_empty()).collect();
    match used.is_empty() {
        true => LANGUAGES
            .iter()
            .map(|language| (language, modules.iter().collect()))
            .collect(),
        false => used,
    }
}

/// The language and the absolute path of the manifest of the project at `path`, which has to be one.
pub(crate) fn recognise(path: &Path) -> Result<(&'static Language, PathBuf)> {
    let absolute = path
        .canonicalize()
        .or_failed(format_args!("cannot find `{}`", path.display()))?;
    at(&absolute).ok_or_else(|| no_project(path))
}

pub(crate) fn no_project(path: &Path) -> Error {
    let manifests = suggest::list(LANGUAGES.iter().map(|language| language.manifest), "or");
    Error::failed(format!(
        "`{}` is not a project: expected a {manifests} there",
        path.display()
    ))
    .with_hint("name the project's directory, or create a project with `pointwork new NAME`")
}

/// Finds the project at `path`, a directory or a manifest, or the package of this name in it. Ensures that its tools are
/// there.
pub(crate) fn find(path: &Path, package: Option<&str>, options: &BuildOptions, terminal: &mut Terminal) -> Result<Project> {
    let (language, manifest) = recognise(path)?;
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

/// Whether a folder holds no sources of any language.
pub(crate) fn is_ignored(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    let is_ignored = |language: &Language| language.ignored.iter().any(|ignored| name == *ignored);
    let is_hidden = name.as_encoded_bytes().starts_with(b".");
    LANGUAGES.iter().any(is_ignored) || is_hidden && !LANGUAGES.iter().any(|language| language.is_setting(folder))
}
