//! `pointwork check`: checks a component against the contract, and describes it.

use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use futures_executor::block_on;
use pointwork::{App, Inspection, ModuleInfo};
use pointwork_config::{Config, Missing, Module, suggest};
use tracing::subscriber::NoSubscriber;

use crate::app::{self, Loadable};
use crate::build;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::integers;
use crate::lint;
use crate::ui::{DONE, ERROR, Terminal, styled};

const EXAMPLES: &str = "\
Examples:
  pointwork check target/pointwork/shop.wasm
  pointwork check target/pointwork/store.wasm -c pointwork.toml

The component is compiled and instantiated, and its routes and channels are read; no handler and
no listener runs. With a configuration it has the grants and limits of the module with that file,
without one it has no grants and the default limits; the component of `build --debug` has those of
the optimised one. If it is refused, the exit code is 5 and the
reason goes to standard error. The description goes to standard output in either case.";

/// The options of `pointwork check`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    /// Component
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Configuration with the grants of the component [default: no grants]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) fn run(args: &CheckArgs, terminal: &mut Terminal) -> Result<()> {
    let file = args.file.display();
    let config = configuration(args)?;
    let message = format_args!("cannot read the component `{file}`");
    let bytes = app::read_component(&args.file, app::largest(&config), message)?;
    let refused = || format!("`{file}` is refused");
    let inspection = pointwork::inspect(&bytes).map_err(|error| Error::refused_because(refused(), error))?;
    let unlisted = lint::warnings(&bytes);
    let module = Loadable::new(module(args, &config)?, &config, Missing::StandIn)?;
    let loaded = match inspection.check() {
        Ok(_) => {
            let app = app::create(&config, None)?;
            load(&app, &module, bytes).map_err(|error| Error::refused(refused(), &error))
        }
        Err(error) => Err(Error::refused_because(refused(), error)),
    };
    match &loaded {
        Ok(info) => {
            terminal.line(format_args!("{file} {}", styled(DONE, "fits the contract")));
            terminal.row("form", &info.form.to_string());
            terminal.row("contract", &format!("pointwork:module@{}", info.version));
            terminal.row("routes", &info.routes.to_string());
            let guarded = guarded(info);
            if !guarded.is_empty() {
                terminal.rows("guards", &guarded);
            }
            terminal.rows("channels", &channels(info));
            terminal.rows("uses", &info.events_used);
            terminal.row("digest", &format!("sha256:{}", info.digest));
        }
        Err(_) => terminal.line(format_args!("{file} {}", styled(ERROR, "is refused"))),
    }
    outline(&inspection, &module, terminal);
    let info = loaded?;
    let integers = integers::warnings(&info);
    for warning in info.warnings.into_iter().chain(unlisted).chain(integers) {
        terminal.warning(warning);
    }
    Ok(())
}

/// The named configuration, or one with only the component.
fn configuration(args: &CheckArgs) -> Result<Config> {
    match &args.config {
        Some(config) => Ok(Config::load(config)?),
        None => {
            let name = args.file.file_stem().unwrap_or_default().to_string_lossy();
            let mut config = Config::default();
            config.modules.push(Module::new(name, &args.file));
            Ok(config)
        }
    }
}

/// The first module of the configuration that is loaded from the component, or from the optimised one beside it.
fn module<'a>(args: &CheckArgs, config: &'a Config) -> Result<&'a Module> {
    let loaded_from = |file: &Path| config.modules.iter().find(|module| is_same_file(&module.path, file));
    let found = loaded_from(&args.file).or_else(|| loaded_from(&build::optimised(&args.file)?));
    found.ok_or_else(|| {
        let message = format!(
            "no module of `{}` is loaded from `{}`",
            config.file().display(),
            args.file.display()
        );
        let paths: Vec<_> = config
            .modules
            .iter()
            .map(|module| module.path.to_string_lossy())
            .collect();
        let expected = suggest::list(paths.iter().map(AsRef::as_ref), "or");
        Error::new(Exit::Usage, message).with_hint(format!("its modules are loaded from {expected}"))
    })
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    one == other || matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Loads the module as a server does.
fn load(app: &App, module: &Loadable<'_>, component: Vec<u8>) -> Result<ModuleInfo, pointwork::Error> {
    // The command prints what the log would have.
    let loading = app.module(&module.module.name).bytes(component);
    let loading = || block_on(loading.options(module.options.clone()).load());
    tracing::subscriber::with_default(NoSubscriber::new(), loading)
}

/// A text for each channel, with its events.
fn channels(info: &ModuleInfo) -> Vec<String> {
    let channels = info.channels.iter();
    channels
        .map(|channel| format!("{}: {}", channel.name, channel.events.join(", ")))
        .collect()
}

/// A text for each handler that has guards or after-hooks, in the order in which they run.
fn guarded(info: &ModuleInfo) -> Vec<String> {
    let handlers = info.controllers.iter().flat_map(|controller| {
        let handlers = controller.handlers.iter();
        handlers.map(|handler| (format!("{}.{}", controller.name, handler.name), handler))
    });
    let mut texts: Vec<String> = Vec::new();
    for (name, handler) in handlers {
        let names = |key: &str| {
            let named = handler.metadata.iter().filter(|(other, _)| other == key);
            named.map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let (guards, hooks) = (names("guard"), names("after"));
        let after = if hooks.is_empty() {
            String::new()
        } else {
            format!(" after: {hooks}")
        };
        let text = format!("{name}: {guards}{after}");
        // The routes of a handler have the same guards.
        if !(guards.is_empty() && hooks.is_empty() || texts.contains(&text)) {
            texts.push(text);
        }
    }
    texts
}

fn outline(inspection: &Inspection, module: &Loadable<'_>, terminal: &mut Terminal) {
    let size = u64::try_from(inspection.size).unwrap_or(u64::MAX);
    terminal.row("size", &format!("{} ({size} bytes)", ByteSize::b(size).display().iec()));
    let asks: Vec<String> = inspection.capabilities().iter().map(ToString::to_string).collect();
    terminal.rows("asks", &asks);
    terminal.rows("granted", &module.grants.describe());
    let variables: Vec<_> = module.options.variables.names().map(str::to_owned).collect();
    if !variables.is_empty() {
        terminal.rows("vars", &variables);
    }
    let imports = inspection.imports.iter().cloned();
    let (contract, beyond): (Vec<_>, Vec<_>) = imports.partition(|name| name.starts_with("pointwork:module/"));
    terminal.rows("imports", &contract);
    terminal.rows("beyond", &beyond);
    terminal.rows("exports", &inspection.exports);
}
