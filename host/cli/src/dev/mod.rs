//! `pointwork dev`: builds modules, serves them, and swaps each one when its sources change.

mod module;
mod sources;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pointwork::App;
use pointwork_config::{Channels, Config, Missing};
use tokio::net::TcpListener;

use self::module::{DevModule, Outcome};
use self::sources::{Changed, Sources};
use crate::app::{self, Loadable};
use crate::build::relative;
use crate::config;
use crate::error::{Error, OrFailed, Result};
use crate::exit::Exit;
use crate::lint;
use crate::serve::{self, Server, ServerArgs, Signals, Watch};
use crate::ui::Terminal;

const EXAMPLES: &str = "\
Examples:
  pointwork dev                                 the modules of pointwork.toml
  pointwork dev -c shop/pointwork.toml          those of another configuration
  pointwork dev --listen 127.0.0.1:0            on a free port, which the banner shows
  pointwork dev --release                       with the optimisation of `pointwork build`

Each module with a `build` in the configuration is built and loaded; it is built and swapped again
when one of its sources changes. Sources are what the last build read, and every .rs file and
Cargo.toml of the workspace. Code that does not compile is shown, and the version before serves on.
A module without a `build` is swapped when its component changes.

A reply of 500 or more contains the crashes of its request: module, handler, message, and the
backtrace with files and lines. There is no circuit breaker and no trial of new versions. [admin],
[state] and [cache] of the configuration are not used, and no component is written: this is for
development; `pointwork serve` is for everything else.";

/// The options of `pointwork dev`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct DevArgs {
    /// Configuration [default: pointwork.toml]
    #[arg(short, long, value_name = "FILE")]
    config: Option<PathBuf>,

    #[command(flatten)]
    server: ServerArgs,

    /// Build with the profile `release`, which takes longer and serves faster
    #[arg(long)]
    release: bool,
}

impl DevArgs {
    fn config(&self) -> Result<Config> {
        let mut config = config::load(self.config.as_deref())?;
        self.server.apply(&mut config);
        config.development = true;
        config.admin = None;
        config.state = None;
        config.cache.enabled = false;
        if config.modules.iter().all(|module| module.build.is_none()) {
            let file = config.file().display();
            let message = format!("no module of `{file}` has a `build`, so that there are no sources to watch");
            return Err(Error::new(Exit::Config, message).with_hint(
                "name the cargo package of a module, as in `build = \".\"`; components that change are swapped by \
                 `pointwork serve --watch`",
            ));
        }
        Ok(config)
    }
}

pub(crate) fn run(args: &DevArgs, terminal: &mut Terminal) -> Result<()> {
    serve::run_in_runtime(async |signals| dev(args, signals, terminal).await)
}

async fn dev(args: &DevArgs, mut signals: Signals, terminal: &mut Terminal) -> Result<()> {
    let config = args.config()?;
    let modules = app::prepare(&config, Missing::Create)?;
    let channels = Channels::open(&config)?;
    // A port that is taken is better known before a long build. Until the server runs, clients wait.
    let listener = serve::listen(config.listen.as_ref()).await?;
    warn_of_crashes(&listener, terminal);
    let app = app::create(&config, None)?;
    app::bind(&app, &channels)?;
    let starting = async {
        let mut sources = SourceModules::new(&app, &config, &modules, args.release).await?;
        let mut others = Vec::new();
        // In the order of the configuration (spec D9).
        for loadable in &modules {
            match sources.position(&loadable.module.name) {
                Some(index) => sources.start(index).await,
                None => others.push((loadable, app::load_file(&app, loadable, &config).await?)),
            }
        }
        Ok((sources, others))
    };
    let Some((sources, others)) = signals.unless_one_comes(starting).await? else {
        return signals.unless_second_cuts(app.close()).await;
    };
    let server = Server::new(app.clone(), listener, &config, signals)?;
    server.announce(&channels, terminal)?;
    let others = Watch::new(others, &config);
    let watching = tokio::spawn(async move {
        tokio::join!(sources.run(), others.run(app));
    });
    server.run(Some(watching)).await
}

/// Replies tell what only the developer should know.
fn warn_of_crashes(listener: &TcpListener, terminal: &mut Terminal) {
    if let Ok(address) = listener.local_addr()
        && !address.ip().is_loopback()
    {
        terminal.warning(format_args!(
            "replies show crashes, with messages and backtraces, to everybody who can reach {address}"
        ));
        terminal.hint("`--listen 127.0.0.1:8080` is reached from this machine alone; `pointwork serve` shows no crash");
    }
}

/// The modules that are built from sources.
struct SourceModules {
    app: App,
    modules: Vec<DevModule>,
    sources: Sources,
    terminal: Terminal,
}

impl SourceModules {
    async fn new(app: &App, config: &Config, loadables: &[Loadable<'_>], release: bool) -> Result<Self> {
        let mut modules = Vec::new();
        for loadable in loadables {
            if let Some(package) = &loadable.module.build {
                modules.push(DevModule::new(loadable, package, release).await?);
            }
        }
        let roots: BTreeSet<PathBuf> = modules.iter().flat_map(DevModule::roots).cloned().collect();
        let configuration = absolute(config.file());
        let sources = Sources::new(modules.len(), roots.into_iter().collect(), configuration);
        Ok(Self {
            app: app.clone(),
            modules,
            sources: sources.or_failed("the sources cannot be watched")?,
            terminal: Terminal::standard(),
        })
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.modules.iter().position(|module| module.name == name)
    }

    /// Builds and loads a module. If that fails, it waits for changes, and tries again.
    async fn start(&mut self, index: usize) {
        loop {
            let module = &mut self.modules[index];
            let (name, package) = (module.name.clone(), module.package().display().to_string());
            self.terminal
                .note(format_args!("building module `{name}` from {package}"));
            match self.update(index).await {
                Ok(outcome) => return self.warn(outcome),
                Err(error) => {
                    self.terminal.error(&error);
                    self.terminal
                        .note("waiting for a change; the server starts when every module is loaded");
                }
            }
            let changed = self.sources.changed().await;
            self.apply(changed).await;
        }
    }

    /// Builds and swaps modules as their sources change, for ever.
    async fn run(mut self) {
        loop {
            let changed = self.sources.changed().await;
            self.apply(changed).await;
        }
    }

    /// Updates the modules that are loaded and changed.
    async fn apply(&mut self, changed: Changed) {
        let Changed {
            file,
            since,
            modules,
            settings,
            configuration,
        } = changed;
        let file = relative(&file).display();
        if configuration {
            self.terminal
                .warning(format_args!("{file} changed; `pointwork dev` reads it when it starts"));
        }
        for index in modules {
            if settings && let Err(error) = self.modules[index].find().await {
                self.terminal.error(&error);
                continue;
            }
            if !self.modules[index].is_loaded() {
                continue;
            }
            let updated = self.update(index).await;
            let name = &self.modules[index].name;
            match updated {
                Ok(outcome) => {
                    let seconds = since.elapsed().as_secs_f64();
                    let text = match &outcome {
                        Outcome::Loaded(changes, _) => {
                            format!("swapped {seconds:.2} s after {file} changed{changes}")
                        }
                        Outcome::Same => format!("is the same as before {file} changed"),
                    };
                    self.terminal.note(format_args!("module `{name}` {text}"));
                    self.warn(outcome);
                }
                Err(error) => {
                    self.terminal.error(&error);
                    self.terminal
                        .note(format_args!("the version before of module `{name}` serves on"));
                }
            }
        }
    }

    /// Warns of mistakes in the code that is loaded, which takes a while.
    fn warn(&mut self, outcome: Outcome) {
        if let Outcome::Loaded(_, component) = outcome {
            let warnings = tokio::task::block_in_place(|| lint::warnings(&component));
            for warning in warnings {
                self.terminal.warning(warning);
            }
        }
    }

    async fn update(&mut self, index: usize) -> Result<Outcome> {
        let module = &mut self.modules[index];
        let begun = SystemTime::now();
        let (component, files) = module.build().await?;
        let published = module.publish(&self.app, component).await;
        // Directories are read; the new version should not wait for it.
        self.sources.built(index, files, module.roots(), begun);
        published
    }
}

/// Paths in events are absolute.
fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
