//! `pointwork check`: whether a component fits the contract, and what it is.

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use futures_executor::block_on;
use pointwork::{App, Grants, Inspection, ModuleInfo};
use tracing::subscriber::NoSubscriber;

use crate::app::{self, Loadable};
use crate::config::{Config, Module};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::grants::Missing;
use crate::suggest;
use crate::ui::{DONE, ERROR, Terminal, styled};

const EXAMPLES: &str = "\
Examples:
  pointwork check target/pointwork/shop.wasm
  pointwork check target/pointwork/store.wasm -c pointwork.toml

The component is read, compiled, instantiated and asked for its routes and channels; no handler and
no listener runs. It is granted what the configuration grants the module with that file, under that
module's limits; without a configuration nothing is granted, and the usual limits hold. One that is
refused ends with exit code 5, and the reason stands on standard error. What could be read of it
stands on standard output either way.";

/// The options of `pointwork check`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// The component
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The configuration that says what the component is granted [default: nothing is]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

/// Runs `pointwork check`.
pub(crate) fn run(args: &Args, terminal: &mut Terminal) -> Result<()> {
    let file = args.file.display();
    let bytes = std::fs::read(&args.file)
        .map_err(|error| Error::failed(format!("cannot read the component `{file}`")).with_source(error))?;
    let refused = || format!("`{file}` is refused");
    let inspection = pointwork::inspect(&bytes).map_err(|error| Error::refused_because(refused(), error))?;
    let config = configuration(args)?;
    let module = app::prepare_one(module(args, &config)?, &config, Missing::StandIn)?;
    let loaded = match inspection.check(module.grants()) {
        Ok(_) => {
            let app = app::create(&config, None)?;
            load(&app, &module, bytes).map_err(|error| Error::refused(refused(), error))
        }
        Err(error) => Err(Error::refused_because(refused(), error)),
    };
    match &loaded {
        Ok(info) => {
            terminal.line(format_args!("{file} {}", styled(DONE, "fits the contract")));
            terminal.row("form", &info.form.to_string());
            terminal.row("contract", &format!("pointwork:module@{}", info.version));
            terminal.row("routes", &info.routes.to_string());
            terminal.rows("channels", &channels(info));
            terminal.row("digest", &format!("sha256:{}", info.digest));
        }
        Err(_) => terminal.line(format_args!("{file} {}", styled(ERROR, "is refused"))),
    }
    outline(&inspection, module.grants(), terminal);
    for warning in loaded?.warnings {
        terminal.warning(warning);
    }
    Ok(())
}

/// The configuration that the arguments name, or one with nothing but the component.
fn configuration(args: &Args) -> Result<Config> {
    match &args.config {
        Some(config) => Config::load(Some(config)),
        None => {
            let name = args.file.file_stem().unwrap_or_default().to_string_lossy();
            Ok(Config {
                modules: vec![Module::new(name, &args.file)],
                ..Config::default()
            })
        }
    }
}

/// The module of the configuration that is loaded from the component. Two of one file cannot be served together, so the
/// first is the one.
fn module<'a>(args: &Args, config: &'a Config) -> Result<&'a Module> {
    let found = config
        .modules
        .iter()
        .find(|module| is_same_file(&module.path, &args.file));
    found.ok_or_else(|| {
        let message = format!(
            "no module of `{}` is loaded from `{}`",
            config.file.display(),
            args.file.display()
        );
        let paths: Vec<_> = config
            .modules
            .iter()
            .map(|module| module.path.to_string_lossy())
            .collect();
        let expected = suggest::list_or(paths.iter().map(AsRef::as_ref));
        Error::new(Exit::Usage, message).with_hint(format!("its modules are loaded from {expected}"))
    })
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Does what a server would do with it before the first request.
fn load(app: &App, module: &Loadable<'_>, component: Vec<u8>) -> Result<ModuleInfo, pointwork::Error> {
    // What the log would say is what the command prints.
    let loading = || block_on(module.load(app, component));
    tracing::subscriber::with_default(NoSubscriber::new(), loading)
}

/// A text for each channel, with its events.
fn channels(info: &ModuleInfo) -> Vec<String> {
    let channels = info.channels.iter();
    channels
        .map(|channel| format!("{}: {}", channel.name, channel.events.join(", ")))
        .collect()
}

fn outline(inspection: &Inspection, grants: &Grants, terminal: &mut Terminal) {
    let size = u64::try_from(inspection.size).unwrap_or(u64::MAX);
    terminal.row("size", &format!("{} ({size} bytes)", ByteSize::b(size).display().iec()));
    let asks: Vec<String> = inspection.capabilities().iter().map(ToString::to_string).collect();
    terminal.rows("asks", &asks);
    terminal.rows("granted", &grants.describe());
    terminal.rows("imports", &inspection.imports);
    terminal.rows("exports", &inspection.exports);
}
