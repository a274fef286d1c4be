//! `pointwork dev`: builds modules, serves them, and swaps each one when its sources change.

mod module;
mod sources;

use std::collections::{BTreeSet, HashSet};
use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use pointwork::App;
use pointwork_config::{Channels, Config, Missing, Module};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use self::module::{DevModule, Outcome};
use self::sources::{Changed, Sources};
use crate::app::{self, Loadable};
use crate::config;
use crate::error::{Error, OrFailed, Result};
use crate::exit::Exit;
use crate::lint;
use crate::serve::{self, Server, ServerArgs, Signals, Watch};
use crate::toolchains;
use crate::ui::{Terminal, relative};

const EXAMPLES: &str = "\
Examples:
  pointwork dev                                 the modules of pointwork.toml
  pointwork dev -c shop/pointwork.toml          those of another configuration
  pointwork dev --listen 127.0.0.1:0            on a free port, which the banner shows
  pointwork dev --release                       with the optimisation of `pointwork build`

Each module with a `build` in the configuration is built and loaded; it is built and swapped again
when one of its sources changes. Sources are what the last build read, and every file of the
language and manifest of the workspace. Code that does not compile is shown, and the version before serves on.
A module without a `build` is swapped when its component changes. When the configuration changes, or
a file of a variable or a schema that it names, it is read again, and an application of it takes the
place of the one before; a connection that has sent no request yet may be closed then. A wrong one is
shown, and the one before serves on.

A reply of 500 or more contains the crashes of its request, and the errors that its modules logged:
module, handler, message, and the backtrace with files and lines, and the error in a configuration
that is not used. There is no circuit breaker and no trial of new versions. [admin]
and [state] of the configuration are not used, nor is [cache] without a module in TypeScript or Python,
and no component is written: this is for development; `pointwork serve` is for everything else.";

/// The options of `pointwork dev`.
#[derive(Clone, Debug, clap::Args)]
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
        // Most components differ after each change.
        let keeps = |module: &Module| Some(toolchains::at(module.build.as_deref()?).ok()?.0.keeps_component);
        config.cache.enabled &= config.modules.iter().any(|module| keeps(module) == Some(true));
        if config.modules.iter().all(|module| module.build.is_none()) {
            let file = config.file().display();
            let message = format!("no module of `{file}` has a `build`, so that there are no sources to watch");
            return Err(Error::new(Exit::Config, message).with_hint(
                "name the folder of a module's sources, as in `build = \".\"`; components that change are swapped by \
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
    // A port that is taken is better known before a long build. Until the server runs, clients wait.
    let listener = serve::listen(config.listen.as_ref()).await?;
    warn_of_crashes(&listener, terminal);
    let started = Started::new(config, listener)?;
    let app = started.app.clone();
    let starting = started.load(args, true);
    let Some(mut started) = signals.unless_one_comes(starting).await? else {
        return signals.unless_second_cuts(app.close()).await;
    };
    loop {
        let (mut server, mut watching) = started.serve(args, terminal)?;
        let next = tokio::select! {
            name = server.until_signal(&mut signals) => {
                watching.abort();
                return match name {
                    Some(name) => server.end_by(name, signals).await,
                    None => Ok(()),
                };
            }
            next = &mut watching => next.or_failed("the files are not watched any more")?,
        };
        // Requests in flight end as they began.
        tokio::spawn(server.end());
        started = next;
    }
}

/// The application of one state of the configuration, whose listener is bound.
struct Started {
    app: App,
    config: Arc<Config>,
    channels: Channels,
    listener: TcpListener,
    /// The modules that are built from sources, and those that are components; none before they are loaded.
    modules: Option<(SourceModules, Watch)>,
}

impl Started {
    fn new(config: Config, listener: TcpListener) -> Result<Self> {
        let channels = Channels::open(&config)?;
        let app = app::create(&config, None)?;
        app::bind(&app, &channels)?;
        Ok(Self {
            app,
            config: Arc::new(config),
            channels,
            listener,
            modules: None,
        })
    }

    /// Builds and loads the modules. One that does not compile is waited for, or is an error.
    async fn load(mut self, args: &DevArgs, waits: bool) -> Result<Self> {
        let config = self.config.clone();
        let modules = app::prepare(&config, Missing::Create)?;
        let mut sources = SourceModules::new(&self.app, &config, &modules, args.release).await?;
        let mut others = Vec::new();
        // In the order of the configuration (spec D9).
        for loadable in &modules {
            match sources.position(&loadable.module.name) {
                Some(index) if waits => sources.start(index).await,
                Some(index) => drop(sources.update(index).await?),
                None => others.push((loadable, app::load_file(&self.app, loadable, &config).await?)),
            }
        }
        self.modules = Some((sources, Watch::new(others, &config)));
        Ok(self)
    }

    /// Begins to serve, and to watch the files until the configuration has changed. The result of the task is the application
    /// that takes the place of this one.
    fn serve(self, args: &DevArgs, terminal: &mut Terminal) -> Result<(Server, JoinHandle<Self>)> {
        let address = SharedListener::new(self.listener)?;
        let server = Server::new(self.app.clone(), address.listener()?, &self.config)?;
        server.announce(&self.channels, terminal)?;
        let (args, config, app, modules) = (args.clone(), self.config, self.app, self.modules);
        let watching = tokio::spawn(async move {
            let Some((sources, others)) = modules else {
                return pending().await;
            };
            tokio::select! {
                next = sources.run(&args, &config, &address) => next,
                () = others.run(app) => pending().await,
            }
        });
        Ok((server, watching))
    }

    /// The application of the configuration as it is now. If it cannot be had, nothing has changed.
    async fn next(args: &DevArgs, before: &Config, address: &SharedListener) -> Result<Self> {
        let config = args.config()?;
        let listener = if config.listen == before.listen {
            address.listener()?
        } else {
            serve::listen(config.listen.as_ref()).await?
        };
        let started = Self::new(config, listener)?;
        let app = started.app.clone();
        let loaded = started.load(args, false).await;
        if loaded.is_err() {
            app.close().await;
        }
        loaded
    }
}

/// A bound socket from which one server after another accepts connections: between two of them clients wait.
struct SharedListener(std::net::TcpListener);

impl SharedListener {
    fn new(listener: TcpListener) -> Result<Self> {
        listener.into_std().map(Self).or_failed(NO_LISTENER)
    }

    fn listener(&self) -> Result<TcpListener> {
        self.0
            .try_clone()
            .and_then(TcpListener::from_std)
            .or_failed(NO_LISTENER)
    }
}

const NO_LISTENER: &str = "the listener cannot be shared";

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
        let configuration = configuration_files(config);
        let languages = modules.iter().map(DevModule::language).collect();
        let sources = Sources::new(languages, roots.into_iter().collect(), configuration);
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
            let (name, package) = (module.name.clone(), module.path.display().to_string());
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

    /// Builds and swaps modules as their sources change, until the configuration has changed. One that cannot be used is read
    /// again at each further change.
    async fn run(mut self, args: &DevArgs, config: &Config, address: &SharedListener) -> Started {
        let mut is_changed = false;
        loop {
            let changed = self.sources.changed().await;
            is_changed |= changed.configuration;
            if is_changed {
                let file = relative(config.file()).display();
                self.terminal.note(format_args!("reading {file} again"));
                match Started::next(args, config, address).await {
                    Ok(next) => return next,
                    Err(error) => {
                        self.terminal.error(&error);
                        self.app.bus().set_notice(Some(pointwork_core::error_chain(&error)));
                        self.terminal.note(format_args!(
                            "{} changed; the configuration before serves on",
                            named(&changed.files)
                        ));
                    }
                }
            }
            self.apply(changed).await;
        }
    }

    /// Updates the modules that are loaded and changed.
    async fn apply(&mut self, changed: Changed) {
        let Changed {
            files,
            since,
            modules,
            settings,
            configuration: _,
        } = changed;
        let files = named(&files);
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
                            format!("swapped {seconds:.2} s after {files} changed{changes}")
                        }
                        Outcome::Same => format!("is the same as before {files} changed"),
                    };
                    self.terminal.note(format_args!("module `{name}` {text}"));
                    self.warn(outcome);
                }
                Err(error) => {
                    self.terminal.error(&error);
                    self.terminal.note(format_args!(
                        "{files} changed; the version before of module `{name}` serves on"
                    ));
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
        let component = module.build().await?;
        let published = module.publish(&self.app, component.bytes, component.program).await;
        // Directories are read; the new version should not wait for it.
        self.sources.built(index, component.sources, module.roots(), begun);
        published
    }
}

/// The most files that a line names.
const MOST_NAMED: usize = 3;

/// The names of the files that changed. Any of the files may break the build.
fn named(files: &[PathBuf]) -> String {
    let names = files
        .iter()
        .take(MOST_NAMED)
        .map(|file| match file.as_os_str().is_empty() {
            // The system has lost events.
            true => "a file".to_owned(),
            false => relative(file).display().to_string(),
        });
    let mut names: Vec<_> = names.collect();
    let more = files.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    match names.split_last() {
        Some((last, head)) if !head.is_empty() => format!("{} and {last}", head.join(", ")),
        _ => names.concat(),
    }
}

/// The file of the configuration and those that it names. Paths in events are absolute; of a link, the link and its target may
/// change.
fn configuration_files(config: &Config) -> HashSet<PathBuf> {
    let files = [config.file()].into_iter().chain(config.named_files());
    files
        .flat_map(|file| [std::path::absolute(file), file.canonicalize()])
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_changed_are_named_together() {
        let files = ["/src/a.rs", "/src/b.rs", "/src/c.rs", "/src/d.rs", "/src/e.rs"].map(PathBuf::from);
        for (count, text) in [
            (1, "/src/a.rs"),
            (2, "/src/a.rs and /src/b.rs"),
            (3, "/src/a.rs, /src/b.rs and /src/c.rs"),
            (5, "/src/a.rs, /src/b.rs, /src/c.rs and 2 more"),
        ] {
            assert_eq!(named(&files[..count]), text);
        }
        assert_eq!(named(&[PathBuf::new()]), "a file");
    }
}
