//! `pointwork doctor`: what is there for building and serving, and what is missing.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use pointwork_config::{Config, FILE_NAME, Module};
use pointwork_core::read_file;

use crate::app;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serve::LISTEN;
use crate::toolchains::{self, Findings, LANGUAGES, number};
use crate::ui::Terminal;

const EXAMPLES: &str = "\
Each line begins with `ok`, `missing` or `note`. A missing thing is followed by the way to get it;
then the exit code is not 0. A note is about something that this project does not need. In a
folder with a pointwork.toml its modules, its SDK and its address are checked too.

Examples:
  pointwork doctor
  pointwork doctor --config shop/pointwork.toml";

/// The options of `pointwork doctor`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DoctorArgs {
    /// Configuration of the project [default: pointwork.toml, if there is one]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) fn run(args: &DoctorArgs, terminal: &mut Terminal) -> Result<()> {
    let mut findings = Findings::new(terminal);
    let file = args.config.as_deref().unwrap_or(Path::new(FILE_NAME));
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let config = (args.config.is_some() || file.exists()).then(|| Config::load(file).map_err(Error::from));
    let modules = match &config {
        Some(Ok(config)) => &config.modules[..],
        _ => &[],
    };
    for (language, modules) in toolchains::used_by(modules) {
        (language.tools)(folder, &modules, &mut findings);
    }
    match config {
        Some(Ok(config)) => project(&config, folder, &mut findings),
        Some(Err(error)) => findings.error(&error),
        None => findings.note(format_args!(
            "no {FILE_NAME} here: no project was checked; `pointwork new NAME` creates one"
        )),
    }
    findings.end()
}

/// The project: its configuration, its SDK, its components and its address.
fn project(config: &Config, folder: &Path, findings: &mut Findings<'_>) {
    let file = config.file().display();
    match config.modules.len() {
        0 => findings.note(format_args!("{file} lists no module")),
        1 => findings.ok(format_args!("{file} lists 1 module")),
        count => findings.ok(format_args!("{file} lists {count} modules")),
    }
    let mut checked = Vec::new();
    for module in &config.modules {
        let folder = module.build.as_deref().unwrap_or(folder);
        for of in LANGUAGES.iter().map(|language| &language.sdk) {
            for found in (of.locked)(folder) {
                if !checked.contains(&found) {
                    sdk(of.package, &found.0, &found.1, findings);
                    checked.push(found);
                }
            }
        }
        component(module, app::largest(config), findings);
    }
    let address = config.listen.as_ref().map_or(LISTEN, |listen| listen.as_str());
    match TcpListener::bind(address) {
        Ok(_) => findings.ok(format_args!("address {address} is free")),
        Err(error) => findings.missing(
            Exit::Address,
            format_args!("address {address} cannot be listened on: {error}"),
            "`pointwork serve --listen 127.0.0.1:0` takes a free port",
        ),
    }
}

/// A version of the SDK in a lock file. One of another contract would build components that this program refuses.
fn sdk(package: &str, version: &str, lock: &Path, findings: &mut Findings<'_>) {
    let own = env!("CARGO_PKG_VERSION");
    if number(version) == number(own) {
        findings.ok(format_args!("{package} {version}, of the contract of pointwork {own}"));
    } else {
        findings.missing(
            Exit::Failed,
            format_args!("{package} {own}: {} has {version}", lock.display()),
            "depend on the version of the SDK that belongs to this program, or install the program of that version",
        );
    }
}

/// The component of a module: it is there, or can be built, and fits the contract.
fn component(module: &Module, largest: u64, findings: &mut Findings<'_>) {
    let (name, path) = (&module.name, module.path.display());
    let bytes = match read_file(&module.path, largest) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return match &module.build {
                Some(package) if package.exists() => findings.note(format_args!(
                    "module `{name}` is not built yet: `pointwork serve` builds {path}"
                )),
                Some(package) => findings.missing(
                    Exit::Config,
                    format_args!("package {} of module `{name}`", package.display()),
                    "name its folder in `build`",
                ),
                None => findings.missing(
                    Exit::Failed,
                    format_args!("component {path} of module `{name}`"),
                    "`pointwork build` builds one from its sources; `build = \"FOLDER\"` has `serve` build it",
                ),
            };
        }
        Err(error) => {
            let what_to_do = "name a component that this user may read";
            let text = format!("component {path} of module `{name}` cannot be read: {error}");
            return findings.missing(Exit::Failed, text, what_to_do);
        }
    };
    let checked = pointwork::inspect(&bytes).and_then(|inspection| inspection.check().map(|_| inspection));
    match checked {
        Ok(inspection) => findings.ok(format_args!(
            "module `{name}`: {path} fits the contract {}",
            inspection.contract_version().unwrap_or_default()
        )),
        Err(error) => {
            let error = Error::refused_because(format!("module `{name}`: {path} does not fit the contract"), error);
            findings.error(&error);
        }
    }
}
