//! The package to build, by `cargo metadata`.

use std::path::Path;

use cargo_metadata::{CrateType, Metadata, MetadataCommand, Package};
use pointwork_config::suggest;

use super::RUST;
use super::tools::cannot_run_cargo;
use crate::error::{Error, Result};
use crate::toolchains::language::Project;
use crate::ui::relative;

/// Finds the package of a Cargo.toml or of its workspace, and checks that it builds a `cdylib`.
pub(super) fn find(manifest: &Path, wanted: Option<&str>) -> Result<Project> {
    let metadata = metadata(manifest)?;
    let package = match wanted {
        Some(name) => named(&metadata, name)?,
        None => only(&metadata, manifest)?,
    };
    if !builds_cdylib(package) {
        return Err(Error::failed(format!(
            "package `{}` builds no `cdylib`, the kind of library that becomes a component",
            package.name
        ))
        .with_hint(format!(
            "add to {}:\n\n{CDYLIB_LINES}",
            relative(package.manifest_path.as_std_path()).display()
        )));
    }
    let directory = package.manifest_path.parent().unwrap_or(&package.manifest_path);
    Ok(Project {
        language: &RUST,
        name: package.name.to_string(),
        manifest: package.manifest_path.clone().into_std_path_buf(),
        directory: directory.to_owned().into_std_path_buf(),
        source_roots: {
            let members = metadata.workspace_packages().into_iter();
            let directories = members.filter_map(|member| member.manifest_path.parent());
            let root = &*metadata.workspace_root;
            directories
                .chain([root])
                .map(|path| path.as_std_path().to_owned())
                .collect()
        },
        root: metadata.workspace_root.into_std_path_buf(),
    })
}

/// `rlib` beside it keeps `cargo test` and doctests working.
const CDYLIB_LINES: &str = "[lib]\ncrate-type = [\"cdylib\", \"rlib\"]";

fn metadata(manifest: &Path) -> Result<Metadata> {
    let mut command = MetadataCommand::new();
    command.manifest_path(manifest).no_deps();
    command.exec().map_err(|error| match error {
        cargo_metadata::Error::Io(error) => cannot_run_cargo(error),
        cargo_metadata::Error::CargoMetadata { stderr } => {
            let reason = stderr.trim().trim_start_matches("error: ").to_owned();
            Error::failed(format!("cargo cannot read `{}`", manifest.display())).with_source(reason)
        }
        other => Error::failed(format!("cannot parse the metadata of `{}`", manifest.display())).with_source(other),
    })
}

fn named<'a>(metadata: &'a Metadata, name: &str) -> Result<&'a Package> {
    let packages = metadata.workspace_packages();
    if let Some(package) = packages.iter().find(|package| package.name.as_str() == name) {
        return Ok(package);
    }
    let names = || packages.iter().map(|package| package.name.as_str());
    let error = Error::failed(format!(
        "no package `{name}` in the workspace `{}`",
        metadata.workspace_root
    ));
    Err(error.with_hint(match suggest::nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("it has {}", suggest::list(names(), "and")),
    }))
}

/// The package of the manifest, or else the only one of the workspace that builds a `cdylib`.
fn only<'a>(metadata: &'a Metadata, manifest: &Path) -> Result<&'a Package> {
    let packages = metadata.workspace_packages();
    if let Some(package) = packages
        .iter()
        .find(|package| package.manifest_path.as_std_path() == manifest)
    {
        return Ok(package);
    }
    let candidates: Vec<&Package> = packages.into_iter().filter(|package| builds_cdylib(package)).collect();
    match candidates.as_slice() {
        [package] => Ok(package),
        [] => Err(Error::failed(format!(
            "no package of the workspace `{}` builds a `cdylib`",
            metadata.workspace_root
        ))
        .with_hint(format!(
            "add to the Cargo.toml of the package to build:\n\n{CDYLIB_LINES}"
        ))),
        several => Err(Error::failed(format!(
            "the workspace `{}` has several packages to build: {}",
            metadata.workspace_root,
            suggest::list(several.iter().map(|package| package.name.as_str()), "and")
        ))
        .with_hint(format!("choose one, as in `pointwork build -p {}`", several[0].name))),
    }
}

fn builds_cdylib(package: &Package) -> bool {
    package
        .targets
        .iter()
        .any(|target| target.crate_types.contains(&CrateType::CDyLib))
}
