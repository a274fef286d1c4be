//! Node, npm, and the packages of a project.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pointwork_config::Module;

use super::package::Package;
use super::sdk::SDK;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::toolchains::findings::{Findings, number, version_of};
use crate::toolchains::{self, shown};
use crate::ui::Terminal;

pub(super) const NODE: &str = "node";

/// On Windows a program by that name is a script.
const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

/// The oldest Node that runs the build tool.
const NODE_VERSION: u32 = 20;

const GET_NODE: &str = "install Node 20 or later, with npm, from https://nodejs.org";

/// The packages beside the SDK that build a module, in the versions that the SDK was tested with. New projects name them.
pub(super) const TOOLS: [(&str, &str); 4] = [
    ("@types/node", "20.19.43"),
    ("componentize-qjs", "0.4.5"),
    ("esbuild", "0.28.2"),
    ("typescript", "7.0.2"),
];

/// No scripts of packages run: none of the tools needs one. Packages for development are installed, whatever the
/// environment says. A network that is missing is told in seconds.
const INSTALL: [&str; 9] = [
    "install",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--include=dev",
    "--loglevel=error",
    "--fetch-retries=2",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=2000",
];

/// The folder of the SDK that a project uses. A copy in the project is a link.
pub(super) fn sdk_of(folder: &Path) -> PathBuf {
    let installed = installed(folder, SDK.package).unwrap_or_default();
    installed.canonicalize().unwrap_or(installed)
}

/// The folder of a package that code in a folder imports by its name.
fn installed(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut folders = folder.ancestors().map(|folder| folder.join("node_modules").join(name));
    folders.find(|folder| folder.join("package.json").is_file())
}

/// Checks Node, has npm install what is missing, and has the copy of the SDK compiled.
pub(super) fn ensure(package: &Package, workspace: Option<&Package>, terminal: &mut Terminal) -> Result<()> {
    let version = version_of(Command::new(NODE), &package.folder).map_err(cannot_run_node)?;
    if is_old(&version) {
        return Err(Error::new(Exit::MissingTool, needs_node(&version)).with_hint(GET_NODE));
    }
    // Two installations at once would disturb each other.
    let folder = workspace.map_or(&package.folder, |workspace| &workspace.folder);
    let manifest = File::open(folder.join("package.json")).ok();
    let _until_it_is_done = manifest.as_ref().map(File::lock);
    let wanted = missing(package, workspace);
    if !wanted.is_empty() {
        install(package, workspace, &wanted, terminal)?;
    }
    compile_sdk(&sdk_of(&package.folder), terminal)
}

/// The names of packages that are not installed: those that the manifests name, and the tools.
fn missing<'a>(package: &'a Package, workspace: Option<&'a Package>) -> Vec<&'a str> {
    let sdk = installed(&package.folder, SDK.package).map(|_| sdk_of(&package.folder));
    // The SDK imports the tools.
    let from = sdk.as_deref().unwrap_or(&package.folder);
    let tools = TOOLS.iter().map(|(name, _)| *name);
    let tools = tools.filter(|name| installed(from, name).is_none() && !is_compiled_without(name, from));
    let named = dependencies(package, workspace).filter(|name| installed(&package.folder, name).is_none());
    let mut names: Vec<_> = named.chain(tools).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The packages that a package and its workspace name.
fn dependencies<'a>(package: &'a Package, workspace: Option<&'a Package>) -> impl Iterator<Item = &'a str> {
    package
        .dependencies()
        .chain(workspace.into_iter().flat_map(Package::dependencies))
}

/// The compiler is for the copy of the SDK, until that is compiled.
fn is_compiled_without(tool: &str, sdk: &Path) -> bool {
    ["@types/node", "typescript"].contains(&tool) && is_compiled(sdk)
}

fn is_compiled(sdk: &Path) -> bool {
    sdk.join("dist/build/cli.js").is_file()
}

fn install(package: &Package, workspace: Option<&Package>, wanted: &[&str], terminal: &mut Terminal) -> Result<()> {
    // Within a member npm would install for that alone.
    let folder = workspace.map_or(&package.folder, |workspace| &workspace.folder);
    let mut arguments: Vec<String> = INSTALL.map(str::to_owned).into();
    let mut by_hand = "npm install".to_owned();
    // The tools that the manifest does not name yet.
    let tools = TOOLS.iter().filter(|(name, _)| wanted.contains(name));
    let unnamed: Vec<_> = tools
        .filter(|(name, _)| dependencies(package, workspace).all(|named| named != *name))
        .map(|(name, version)| format!("{name}@{version}"))
        .collect();
    if !unnamed.is_empty() {
        arguments.extend(["--save-dev", "--save-exact"].map(str::to_owned));
        by_hand = format!("npm install --save-dev --save-exact {}", unnamed.join(" "));
        arguments.extend(unnamed);
    }
    let place = shown(folder);
    terminal.note(format_args!("installing {} in {place} with npm", wanted.join(", ")));
    let status = npm(folder, &arguments, Stdio::null())?;
    let rest = missing(package, workspace).join(", ");
    if status.success() && rest.is_empty() {
        return Ok(());
    }
    Err(Error::new(Exit::MissingTool, format!("npm could not install {rest} in `{place}`"))
        .with_source(format!("`{by_hand}` ended with {status}"))
        .with_hint(format!(
            "with a network: (cd {} && {by_hand})\nwithout one, copy `node_modules` from a machine where that was run",
            folder.display()
        )))
}

/// Compiles the copy of the SDK, which is TypeScript: once, since no build changes it.
fn compile_sdk(sdk: &Path, terminal: &mut Terminal) -> Result<()> {
    if is_compiled(sdk) {
        return Ok(());
    }
    let place = shown(sdk);
    terminal.note(format_args!("compiling {} in {place}", SDK.package));
    let status = npm(
        sdk,
        &["run", "build", "--silent"].map(str::to_owned),
        io::stderr().into(),
    )?;
    if status.success() && is_compiled(sdk) {
        return Ok(());
    }
    Err(
        Error::failed(format!("{} in `{place}` could not be compiled", SDK.package))
            .with_source(format!("`npm run build` ended with {status}"))
            .with_hint("`pointwork vendor` writes the copy anew"),
    )
}

/// Runs npm. Standard output is for the result of `build`.
fn npm(folder: &Path, arguments: &[String], output: Stdio) -> Result<std::process::ExitStatus> {
    let mut command = Command::new(NPM);
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.stdout(output).status().map_err(cannot_run_npm)
}

fn is_old(version: &str) -> bool {
    number(version).is_some_and(|(major, _)| major < NODE_VERSION)
}

fn needs_node(version: &str) -> String {
    format!("Node {NODE_VERSION} or later builds modules in TypeScript: this is {version}")
}

pub(super) fn cannot_run_node(error: io::Error) -> Error {
    Error::new(
        Exit::MissingTool,
        "cannot run `node`, which builds modules in TypeScript",
    )
    .with_source(error)
    .with_hint(GET_NODE)
}

fn cannot_run_npm(error: io::Error) -> Error {
    Error::new(
        Exit::MissingTool,
        "cannot run `npm`, which installs the packages of modules in TypeScript",
    )
    .with_source(error)
    .with_hint(GET_NODE)
}

/// Reports the tools that build a component in this folder.
pub(super) fn report(folder: &Path, modules: &[&Module], findings: &mut Findings<'_>) {
    let projects = modules.iter().filter_map(|module| module.build.as_deref());
    let projects = projects.filter_map(|path| Some(toolchains::at(path).ok()?.1));
    let projects: Vec<_> = projects.filter(|manifest| manifest.ends_with("package.json")).collect();
    match version_of(Command::new(NODE), folder) {
        Ok(version) if is_old(&version) => findings.missing(Exit::MissingTool, needs_node(&version), GET_NODE),
        Ok(version) => findings.ok(format_args!("node {version} (needed: {NODE_VERSION} or later)")),
        Err(error) if !projects.is_empty() => return findings.error(&cannot_run_node(error)),
        Err(_) => return findings.note("node is not installed, which builds modules in TypeScript"),
    }
    match version_of(Command::new(NPM), folder) {
        Ok(version) => findings.ok(format_args!("npm {version}")),
        Err(error) if !projects.is_empty() => findings.error(&cannot_run_npm(error)),
        Err(_) => findings.note("npm is not installed, which installs the packages of modules in TypeScript"),
    }
    for manifest in projects {
        let place = manifest.display();
        let folder = manifest.canonicalize().ok();
        let package = Package::read(folder.as_deref().and_then(Path::parent).unwrap_or(&manifest));
        match package.map(|package| missing(&package, package.workspace().as_ref()).join(", ")) {
            Ok(names) if names.is_empty() => findings.ok(format_args!("the packages of {place} are installed")),
            Ok(names) => findings.note(format_args!(
                "`pointwork build` installs the packages of {place}: {names}"
            )),
            Err(error) => findings.error(&error),
        }
    }
}
