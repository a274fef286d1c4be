//! `pointwork serve`: modules and channels on an HTTP server.

mod admin;
mod banner;
mod signals;
mod watch;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use pointwork::App;
use pointwork_config::{Adapter, Admin, AdminAddress, Channels, Config, Listen, Missing, Prefix};
use pointwork_core::BoxFuture;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) use self::signals::Signals;
pub(crate) use self::watch::Watch;
use crate::adapters;
use crate::app;
use crate::error::{Error, OrFailed, Result};
use crate::exit::Exit;
use crate::modules::{self, ModuleArgs};
use crate::toolchains;
use crate::ui::Terminal;

/// The default address.
pub(crate) const LISTEN: &str = "127.0.0.1:8080";

const EXAMPLES: &str = "\
Examples:
  pointwork serve                               the modules of pointwork.toml
  pointwork serve -c shop/pointwork.toml        those of another configuration
  pointwork serve shop.wasm admin.wasm          two components
  pointwork serve --listen 127.0.0.1:0          on a free port, which the banner shows
  pointwork serve --build                       build the modules first, also those that exist
  pointwork serve --access-log                  log each request
  pointwork serve --watch                       swap a component when its file changes
  pointwork serve --admin admin.sock            for `pointwork swap`, `modules` and others
  pointwork serve --state /var/lib/shop         start with the versions that were swapped in last

The banner on standard output lists the routes, the channels, and the imports and grants of each
module. Its last line is `listening on http://HOST:PORT`, after `admin on PLACE` if there is an
admin endpoint. SIGINT (Ctrl-C), SIGTERM and SIGHUP end the server: it accepts no further
connection; requests in flight and emitted events come to their end. Before it listens they end it
at once, with success too. A second signal ends it at once. Under `nohup`, SIGHUP is ignored.

The log goes to standard error, and never holds the server up: lines that cannot be written are
dropped, counted and told of in the log.";

/// The options of `pointwork serve`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    modules: ModuleArgs,

    #[command(flatten)]
    server: ServerArgs,

    /// Swap a component when its file changes
    #[arg(short, long)]
    watch: bool,

    /// Admin endpoint: the path of a socket, or host and port [default: none]
    #[arg(long, value_name = "PLACE")]
    admin: Option<AdminAddress>,

    /// File with the token of the admin endpoint, which an address needs
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,

    /// State directory, which keeps the current version of each module [default: none]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,

    /// List the functions of modules in /tmp/perf-PID.map, where perf finds their names
    #[arg(long)]
    perf_map: bool,
}

/// The address, HTTP server, prefix and access log of a server.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct ServerArgs {
    /// Address to listen on, host and port; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(short, long, value_name = "ADDR")]
    listen: Option<Listen>,

    /// HTTP server to run on [default: hyper]
    #[arg(short, long, value_parser = adapters::parser(), value_name = "NAME")]
    adapter: Option<Adapter>,

    /// Path before that of every route
    #[arg(long, value_name = "PATH")]
    prefix: Option<Prefix>,

    /// Log each request: method, path, route, status, time and id
    #[arg(long)]
    access_log: bool,
}

impl ServerArgs {
    pub(crate) fn apply(&self, config: &mut Config) {
        config.listen = self.listen.clone().or(config.listen.take());
        config.adapter = self.adapter.or(config.adapter);
        config.prefix = self.prefix.clone().or(config.prefix.take());
        config.access_log |= self.access_log;
    }
}

impl ServeArgs {
    /// The configuration, overridden by the command line.
    fn config(&self) -> Result<Config> {
        let mut config = self.modules.config()?;
        self.server.apply(&mut config);
        config.state = self.state.clone().or(config.state);
        config.watch |= self.watch;
        config.perf_map = self.perf_map;
        if let Some(address) = &self.admin {
            config.admin = Some(Admin {
                address: address.clone(),
                token_file: config.admin.and_then(|admin| admin.token_file),
            });
        }
        if let Some(file) = &self.token_file {
            let Some(admin) = &mut config.admin else {
                let error = Error::new(Exit::Usage, "`--token-file` without an admin endpoint");
                return Err(error.with_hint("name its address: `--admin 127.0.0.1:9090`"));
            };
            admin.token_file = Some(file.clone());
        }
        Ok(config)
    }
}

pub(crate) fn run(args: &ServeArgs, terminal: &mut Terminal) -> Result<()> {
    run_in_runtime(async |signals| serve(args, signals, terminal).await)
}

/// Runs a command to its end. Signals do not end the process from the first moment on.
pub(crate) fn run_in_runtime(command: impl AsyncFnOnce(Signals) -> Result<()>) -> Result<()> {
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .thread_name("pointwork-server")
        .build()
        .or_failed("cannot start the server's threads")?;
    let result = runtime.block_on(async {
        let signals = Signals::install().or_failed("cannot listen for signals")?;
        toolchains::run_in_process_group();
        command(signals).await
    });
    toolchains::stop();
    // Tasks that still block had their time.
    runtime.shutdown_background();
    result
}

/// Runs a command that may build. A signal ends the program of a build, and the command with a failure.
pub(crate) fn run_until_signal<A: Send + 'static>(args: A, command: fn(&A, &mut Terminal) -> Result<()>) -> Result<()> {
    let running = blocking(move || {
        let mut terminal = Terminal::standard();
        command(&args, &mut terminal)?;
        terminal.finish()
    });
    run_in_runtime(async |mut signals| {
        tokio::select! {
            biased;
            name = signals.next() => Err(Error::failed(format!("{name} ended the command"))),
            done = running => done,
        }
    })
}

async fn serve(args: &ServeArgs, mut signals: Signals, terminal: &mut Terminal) -> Result<()> {
    let config = Arc::new(args.config()?);
    // A port that is taken is better known before a long build. Nothing listens during it: a program that waits for the
    // port would take the server for ready.
    drop(listen(config.listen.as_ref()).await?);
    let (modules, of_builds) = (args.modules.clone(), config.clone());
    let building = blocking(move || modules.prepare(&of_builds, &mut Terminal::standard()));
    let Some(()) = signals.unless_one_comes(building).await? else {
        return Ok(());
    };
    // Only the builds print as they go.
    terminal.serves();
    let modules = app::prepare(&config, Missing::Create)?;
    let channels = Channels::open(&config)?;
    let state = config.open_state()?;
    let app = app::create(&config, state.clone())?;
    app::bind(&app, &channels)?;
    let starting = async {
        let digests = app::load(&app, &modules, &config).await?;
        if let Some(state) = &state {
            app::load_uploaded(&app, &config, state).await;
        }
        Ok((digests, listen(config.listen.as_ref()).await?))
    };
    let Some((digests, listener)) = signals.unless_one_comes(starting).await? else {
        return signals.unless_second_cuts(app.close()).await;
    };
    let mut server = Server::new(app.clone(), listener, &config)?;
    server.admin = admin::start(&config, &app, &modules, terminal.dropped_lines(), server.stop.clone()).await?;
    modules::explain_no_routes(&config, &app, terminal);
    server.announce(&channels, terminal)?;
    let watching = config
        .watch
        .then(|| tokio::spawn(Watch::new(digests, &config).run(app)));
    server.run(signals, watching).await
}

/// A server whose listener is bound. It accepts connections while it runs.
pub(crate) struct Server {
    app: App,
    adapter: Adapter,
    address: SocketAddr,
    serving: BoxFuture<'static, ()>,
    admin: Option<admin::Endpoint>,
    stop: CancellationToken,
}

impl Server {
    /// Connects the application to the adapter of the configuration.
    pub(crate) fn new(app: App, listener: TcpListener, config: &Config) -> Result<Self> {
        let address = listener.local_addr().or_failed("cannot read the address")?;
        let stop = CancellationToken::new();
        let adapter = config.adapter.unwrap_or_default();
        let serve = adapters::connect(adapter, &app, config.server_options())?;
        Ok(Self {
            serving: serve(listener, Box::pin(stop.clone().cancelled_owned())),
            app,
            adapter,
            address,
            admin: None,
            stop,
        })
    }

    /// Prints the banner, which ends with the address. From now on the server waits for no stream.
    pub(crate) fn announce(&self, channels: &Channels, terminal: &mut Terminal) -> Result<()> {
        terminal.serves();
        let mut banner = banner::text(self.adapter, &self.app, channels);
        if let Some(admin) = &self.admin {
            banner.push_str(&format!("admin on {}\n", admin.address));
        }
        banner.push_str(&format!("listening on http://{}\n", self.address));
        // A reader of this last line finds all other lines of the start before it.
        terminal.flush_log();
        Terminal::banner(banner)
    }

    /// Serves until a signal, which ends the watching task at once.
    pub(crate) async fn run(mut self, mut signals: Signals, watching: Option<JoinHandle<()>>) -> Result<()> {
        let name = self.until_signal(&mut signals).await;
        if let Some(watching) = watching {
            watching.abort();
        }
        match name {
            Some(name) => self.end_by(name, signals).await,
            None => Ok(()),
        }
    }

    /// Serves until a signal, and returns its name; `None` if the server ended by itself.
    ///
    /// # Cancel safety
    /// The next call serves on.
    pub(crate) async fn until_signal(&mut self, signals: &mut Signals) -> Option<&'static str> {
        tokio::select! {
            () = &mut self.serving => None,
            name = signals.next() => Some(name),
        }
    }

    /// Ends the server by a signal. A second one cuts it.
    pub(crate) async fn end_by(self, name: &str, mut signals: Signals) -> Result<()> {
        tracing::info!("{name}: requests in flight come to their end");
        signals.unless_second_cuts(self.end()).await
    }

    /// Accepts no further connection, and waits for requests in flight and emitted events.
    pub(crate) async fn end(self) {
        self.stop.cancel();
        self.serving.await;
        if let Some(admin) = self.admin {
            // The task fails by a panic only, which is printed already.
            let _ = admin.serving.await;
        }
        self.app.close().await;
    }
}

/// Runs work that blocks on another thread.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let ended = tokio::task::spawn_blocking(work).await;
    ended.or_failed("a task of the command did not end")?
}

pub(crate) async fn listen(address: Option<&Listen>) -> Result<TcpListener> {
    let address = address.map_or(LISTEN, Listen::as_str);
    TcpListener::bind(address).await.map_err(|error| {
        use std::io::ErrorKind;
        let hint = match error.kind() {
            ErrorKind::AddrInUse => "another program listens on it; `--listen 127.0.0.1:0` takes a free port",
            ErrorKind::PermissionDenied => {
                "ports below 1024 often need privileges; choose a higher one with `--listen`"
            }
            _ => "name an address of this machine, as in `--listen 127.0.0.1:0`, which takes a free port",
        };
        Error::new(Exit::Address, format!("cannot listen on `{address}`"))
            .with_source(error)
            .with_hint(hint)
    })
}
