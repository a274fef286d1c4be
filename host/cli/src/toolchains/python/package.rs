//! The project to build, by its pyproject.toml.

use std::path::{Path, PathBuf};

use pointwork_config::suggest;
use serde::Deserialize;

use super::{PYTHON, tools};
use crate::error::{Error, OrFailed, Result};
use crate::toolchains::language::{BuildOptions, Project};
use crate::ui::{Terminal, relative};

/// The parts of a pyproject.toml that a build reads.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Pyproject {
    project: Named,
    tool: Tools,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tools {
    pointwork: Option<Settings>,
}

/// The table `[tool.pointwork]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Settings {
    /// The file whose `app` is the module.
    module: Option<PathBuf>,
    /// The folders of the projects that share the environment of this one.
    members: Vec<PathBuf>,
    /// Beginnings of the names of WASI's interfaces that a channel imports, for the grants of the configuration.
    grants: Vec<String>,
}

/// A project with the folder of its manifest.
#[derive(Debug)]
pub(super) struct PythonProject {
    folder: PathBuf,
    name: String,
    settings: Option<Settings>,
}

impl PythonProject {
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let file = folder.join(PYTHON.manifest);
        let text = std::fs::read_to_string(&file).or_failed(format_args!("cannot read `{}`", file.display()))?;
        let manifest: Pyproject =
            toml::from_str(&text).or_failed(format_args!("`{}` is not the manifest of a project", file.display()))?;
        let mut name = manifest.project.name;
        if name.is_empty() {
            let last = folder.file_name().and_then(|name| name.to_str());
            last.unwrap_or("module").clone_into(&mut name);
        }
        Ok(Self {
            folder: folder.to_owned(),
            name,
            settings: manifest.tool.pointwork,
        })
    }

    /// The file whose `app` is the module.
    pub(super) fn entry(&self) -> Result<PathBuf> {
        let named = self.settings.as_ref().and_then(|settings| settings.module.as_deref());
        let file = self.folder.join(named.unwrap_or(Path::new("")));
        if named.is_some() && file.is_file() {
            return Ok(file);
        }
        let place = self.shown();
        let message = match named {
            Some(named) => format!("there is no file `{}`, which `{place}` names", named.display()),
            None => format!("`{place}` names no file of a module"),
        };
        Err(Error::failed(message).with_hint(TABLE))
    }

    /// Beginnings of the names of WASI's interfaces that stay in the component.
    pub(super) fn grants(&self) -> &[String] {
        self.settings.as_ref().map_or(&[], |settings| &settings.grants)
    }

    fn is_module(&self) -> bool {
        self.settings.as_ref().is_some_and(|settings| settings.module.is_some())
    }

    fn shown(&self) -> String {
        relative(&self.folder.join(PYTHON.manifest)).display().to_string()
    }

    fn members(&self) -> Result<Vec<Self>> {
        let members = self.settings.iter().flat_map(|settings| &settings.members);
        members.map(|member| Self::read(&self.folder.join(member))).collect()
    }

    /// The folder of the project around it that has it as a member, or its own: that of the environment.
    pub(super) fn root(&self) -> PathBuf {
        let is_around = |folder: &&Path| {
            let around = Self::read(folder).ok().and_then(|package| package.settings);
            around.is_some_and(|settings| settings.members.iter().any(|member| folder.join(member) == self.folder))
        };
        let around = self.folder.ancestors().skip(1).find(is_around);
        around.unwrap_or(&self.folder).to_owned()
    }
}

const TABLE: &str = "the file whose `app` is the module is named there:\n\n[tool.pointwork]\nmodule = \"src/app.py\"";

/// Finds the project of a manifest, or the one of this name among its members, and has the missing packages installed.
pub(super) fn find(
    manifest: &Path,
    wanted: Option<&str>,
    options: &BuildOptions,
    terminal: &mut Terminal,
) -> Result<Project> {
    options.refuse_those_of_cargo(manifest)?;
    let package = choose(PythonProject::read(manifest.parent().unwrap_or(manifest))?, wanted)?;
    package.entry()?;
    let root = package.root();
    tools::ensure(&root, terminal)?;
    Ok(Project {
        language: &PYTHON,
        manifest: package.folder.join(PYTHON.manifest),
        name: package.name,
        source_roots: vec![root.clone()],
        root,
        directory: package.folder,
    })
}

/// The project itself, or one of its members.
fn choose(package: PythonProject, wanted: Option<&str>) -> Result<PythonProject> {
    if package.is_module() && wanted.is_none_or(|name| name == package.name) {
        return Ok(package);
    }
    let place = package.shown();
    let mut members = package.members()?;
    let names: Vec<_> = members.iter().map(|member| member.name.clone()).collect();
    let of = || suggest::list(names.iter().map(String::as_str), "and");
    match wanted {
        Some(name) => {
            let found = members.into_iter().find(|member| member.name == name);
            found.ok_or_else(|| {
                let near = suggest::nearest(name, names.iter().map(String::as_str));
                let near = near.map(|near| format!("did you mean `{near}`?"));
                let all = (!names.is_empty()).then(|| format!("it has {}", of()));
                Error::failed(format!("no module `{name}` in `{place}`")).with_optional_hint(near.or(all))
            })
        }
        None if members.len() > 1 => {
            let message = format!("`{place}` has several modules to build: {}", of());
            Err(Error::failed(message).with_hint(format!("choose one, as in `pointwork build -p {}`", names[0])))
        }
        None => members
            .pop()
            .ok_or_else(|| Error::failed(format!("`{place}` names no file of a module")).with_hint(TABLE)),
    }
}
