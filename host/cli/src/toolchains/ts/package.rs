//! The package to build, by its package.json.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use glob::Pattern;
use pointwork_config::suggest;
use serde::Deserialize;

use super::sdk::SDK;
use super::{TYPESCRIPT, tools};
use crate::error::{Error, OrFailed, Result};
use crate::toolchains::language::{BuildOptions, Project};
use crate::ui::{Terminal, relative};

/// The fields of a package.json that a build reads.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Manifest {
    name: String,
    main: Option<String>,
    dependencies: BTreeMap<String, String>,
    dev_dependencies: BTreeMap<String, String>,
    workspaces: Workspaces,
}

/// The members of a workspace, as patterns.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Workspaces {
    List(Vec<String>),
    Table { packages: Vec<String> },
}

impl Default for Workspaces {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Workspaces {
    fn patterns(&self) -> &[String] {
        match self {
            Self::List(patterns) | Self::Table { packages: patterns } => patterns,
        }
    }
}

/// A package with the folder of its manifest.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) folder: PathBuf,
    manifest: Manifest,
}

impl Package {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let file = folder.join(TYPESCRIPT.manifest);
        let text = std::fs::read_to_string(&file).or_failed(format_args!("cannot read `{}`", file.display()))?;
        let manifest = serde_json::from_str(&text)
            .or_failed(format_args!("`{}` is not the manifest of a package", file.display()))?;
        Ok(Self {
            folder: folder.to_owned(),
            manifest,
        })
    }

    /// The name without its scope.
    fn name(&self) -> &str {
        let name = self.manifest.name.rsplit('/').next().unwrap_or_default();
        let folder = || self.folder.file_name().and_then(|name| name.to_str());
        Some(name)
            .filter(|name| !name.is_empty())
            .or_else(folder)
            .unwrap_or("module")
    }

    /// The names of the packages that it uses, in builds and tests too.
    pub(super) fn dependencies(&self) -> impl Iterator<Item = &str> {
        let manifest = &self.manifest;
        let names = manifest.dependencies.keys().chain(manifest.dev_dependencies.keys());
        names.map(String::as_str)
    }

    fn uses_sdk(&self) -> bool {
        self.dependencies().any(|name| name == SDK.package)
    }

    /// The packages of its workspace.
    fn members(&self) -> Vec<Self> {
        let patterns = self.manifest.workspaces.patterns().iter();
        let manifests = patterns.filter_map(|pattern| {
            let folder = Pattern::escape(&self.folder.to_string_lossy());
            glob::glob(&format!("{folder}/{pattern}/{}", TYPESCRIPT.manifest)).ok()
        });
        let folders = manifests.flatten().flatten();
        folders
            .filter_map(|manifest| Self::read(manifest.parent()?).ok())
            .collect()
    }

    /// The package of the workspace around it.
    pub(super) fn workspace(&self) -> Option<Self> {
        let around = self.folder.ancestors().skip(1);
        let mut packages = around.filter_map(|folder| Self::read(folder).ok());
        packages.find(|package| package.members().iter().any(|member| member.folder == self.folder))
    }
}

/// Finds the package of a manifest or of its workspace, checks that it uses the SDK, and installs what is missing.
pub(super) fn find(
    manifest: &Path,
    wanted: Option<&str>,
    options: &BuildOptions,
    terminal: &mut Terminal,
) -> Result<Project> {
    options.refuse_those_of_cargo(manifest)?;
    let package = choose(Package::read(manifest.parent().unwrap_or(manifest))?, wanted)?;
    entry(&package.folder)?;
    let workspace = package.workspace();
    tools::ensure(&package, workspace.as_ref(), terminal)?;
    let root = workspace.map_or_else(|| package.folder.clone(), |workspace| workspace.folder);
    Ok(Project {
        language: &TYPESCRIPT,
        name: package.name().to_owned(),
        manifest: package.folder.join(TYPESCRIPT.manifest),
        source_roots: vec![root.clone()],
        root,
        directory: package.folder,
    })
}

/// The package itself, or one of its workspace.
fn choose(package: Package, wanted: Option<&str>) -> Result<Package> {
    let place = package.folder.join(TYPESCRIPT.manifest);
    let place = relative(&place).display().to_string();
    if package.uses_sdk() && wanted.is_none_or(|name| name == package.name()) {
        return Ok(package);
    }
    let mut members = package.members();
    members.retain(Package::uses_sdk);
    let names: Vec<_> = members.iter().map(|member| member.name().to_owned()).collect();
    let of = || suggest::list(names.iter().map(String::as_str), "and");
    if let Some(name) = wanted {
        let found = members.into_iter().find(|member| member.name() == name);
        return found.ok_or_else(|| {
            let error = Error::failed(format!("no package `{name}` that uses `{}` in `{place}`", SDK.package));
            let near = suggest::nearest(name, names.iter().map(String::as_str));
            error.with_optional_hint(match near {
                Some(near) => Some(format!("did you mean `{near}`?")),
                None if names.is_empty() => None,
                None => Some(format!("it has {}", of())),
            })
        });
    }
    match members.len() {
        0 => Err(
            Error::failed(format!("`{place}` does not depend on `{}`", SDK.package)).with_hint(format!(
                "`pointwork vendor` writes a copy of it into the project, and package.json names it:\n\n{}",
                SDK.lines
            )),
        ),
        1 => Ok(members.remove(0)),
        _ => Err(Error::failed(format!(
            "the workspace `{place}` has several packages to build: {}",
            of()
        ))
        .with_hint(format!("choose one, as in `pointwork build -p {}`", names[0]))),
    }
}

/// The files with the module, if the manifest names none as `main`.
const ENTRIES: [&str; 2] = ["src/module.ts", "src/module.js"];

/// The file whose default export is the module of the package in a folder.
pub(super) fn entry(folder: &Path) -> Result<PathBuf> {
    let package = Package::read(folder)?;
    let named = package.manifest.main.as_deref();
    let candidates = named.as_ref().map_or(&ENTRIES[..], std::slice::from_ref);
    let mut files = candidates.iter().map(|file| folder.join(file));
    files.find(|file| file.is_file()).ok_or_else(|| {
        let expected = suggest::list(candidates.iter().copied(), "or");
        let error = Error::failed(format!("package `{}` has no {expected}", package.name()));
        error.with_hint(match named {
            Some(_) => "`main` in package.json names the file whose default export is the module",
            None => {
                "`export default module({ controllers: […] })` is in that file, or in the one that `main` in package.json \
                 names"
            },
        })
    })
}
