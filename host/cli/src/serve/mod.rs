//! `pointwork serve`: modules and channels on an HTTP server.

mod banner;
mod signals;

use std::time::Duration;

use pointwork::App;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use self::signals::Signals;
use crate::adapters::Adapter;
use crate::app::{self, Loadable};
use crate::channels::Channels;
use crate::config::{Config, Listen, Prefix};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::grants::Missing;
use crate::modules::ModuleArgs;
use crate::ui::Terminal;

/// Where to listen when nobody says.
const LISTEN: &str = "127.0.0.1:8080";

/// How long emitted events may take to be heard at the end, and requests in flight to end, unless the configuration
/// says otherwise.
const GRACE: Duration = Duration::from_secs(10);

const EXAMPLES: &str = "\
Examples:
  pointwork serve                               what pointwork.toml says
  pointwork serve -c shop/pointwork.toml        the same of another folder
  pointwork serve shop.wasm admin.wasm          two components that need nothing but each other
  pointwork serve --listen 127.0.0.1:0          on a free port; the last line of the banner tells it
  pointwork serve --build                       build the modules first, also those that are built already

The banner on standard output lists the routes, the channels, and what each module asks for and is
granted; its last line is `listening on http://HOST:PORT`. SIGINT (Ctrl-C) and SIGTERM end it: no
connection is accepted any more, requests in flight and emitted events come to their end.
A second signal ends it at once.";

/// The options of `pointwork serve`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    modules: ModuleArgs,

    /// Where to listen, host and port; port 0 takes a free one [default: 127.0.0.1:8080]
    #[arg(short, long, value_name = "ADDR")]
    listen: Option<Listen>,

    /// The HTTP server to run on [default: hyper]
    #[arg(short, long, value_enum, value_name = "NAME")]
    adapter: Option<Adapter>,

    /// A path before every route's
    #[arg(long, value_name = "PATH")]
    prefix: Option<Prefix>,
}

impl Args {
    /// The configuration, with what the command line says in its place.
    fn config(&self) -> Result<Config> {
        let mut config = self.modules.config()?;
        if let Some(listen) = &self.listen {
            config.listen = Some(listen.clone());
        }
        if let Some(adapter) = self.adapter {
            config.adapter = Some(adapter);
        }
        if let Some(prefix) = &self.prefix {
            config.prefix = Some(prefix.clone());
        }
        Ok(config)
    }
}

/// Runs `pointwork serve`.
pub(crate) fn run(args: &Args, terminal: &mut Terminal) -> Result<()> {
    let config = args.config()?;
    args.modules.prepare(&config, terminal)?;
    let modules = app::prepare(&config, Missing::Create)?;
    let channels = Channels::open(&config)?;
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .thread_name("pointwork-server")
        .build()
        .map_err(|error| Error::failed("cannot start the server's threads").with_source(error))?;
    let result = runtime.block_on(serve(&config, &modules, &channels, terminal));
    // What still blocks has had its time.
    runtime.shutdown_background();
    result
}

async fn serve(config: &Config, modules: &[Loadable<'_>], channels: &Channels, terminal: &mut Terminal) -> Result<()> {
    let app = app::create(config)?;
    channels.bind(&app, &Handle::current())?;
    app::load(&app, modules).await?;
    let listener = listen(config.listen.as_ref()).await?;
    let address = listener
        .local_addr()
        .map_err(|error| Error::failed("cannot tell the address").with_source(error))?;
    let mut signals = Signals::install()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = Box::pin(async {
        // Nobody but this function holds the other end, and it ends no sooner than the server.
        let _ = stopped.await;
    });
    let adapter = config.adapter.unwrap_or_default();
    let serve = adapter.connect(&app, &config.limits)?;
    let mut serving = serve(listener, stopped);

    banner::print(adapter, &app, channels, terminal);
    terminal.line(format_args!("listening on http://{address}"));
    terminal.finish()?;

    let name = tokio::select! {
        () = &mut serving => return Ok(()),
        name = signals.next() => name,
    };
    tracing::info!("{name}: requests in flight come to their end");
    let _ = stop.send(());
    let ending = async {
        serving.await;
        drain(&app, config.limits.shutdown_grace.unwrap_or(GRACE)).await;
        Ok(())
    };
    tokio::select! {
        ended = ending => ended,
        name = signals.next() => Err(Error::failed(format!("a second signal, {name}, cut the requests in flight"))),
    }
}

/// Waits until the emitted events were heard, for a while.
async fn drain(app: &App, grace: Duration) {
    if tokio::time::timeout(grace, app.drained()).await.is_err() {
        let events = app.bus().waiting();
        tracing::warn!(
            events,
            "emitted events were not heard within {grace:?} after the last request, and are lost"
        );
    }
}

async fn listen(address: Option<&Listen>) -> Result<TcpListener> {
    let address = address.map_or(LISTEN, Listen::as_str);
    TcpListener::bind(address).await.map_err(|error| {
        use std::io::ErrorKind;
        let hint = match error.kind() {
            ErrorKind::AddrInUse => "another program listens there; `--listen 127.0.0.1:0` takes a free port",
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
