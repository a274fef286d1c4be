//! The configuration file, `pointwork.toml`.
//!
//! ```toml
//! listen = "127.0.0.1:8080"     # port 0 takes a free one
//! adapter = "hyper"
//! prefix = "/api"               # before every path
//! trailing-slash = "distinct"   # or "match": /products/ is /products
//! watch = false                 # swap a component when its file changes
//!
//! [[module]]                    # in the order in which their routes are listed
//! name = "products"             # by default the file's name without `.wasm`
//! path = "target/pointwork/products.wasm"
//! build = "controllers"         # a cargo package to build it from
//!
//! [[module]]
//! path = "target/pointwork/store.wasm"
//! build = "store"
//! target = "wasm32-wasip2"      # of the compiler; by default wasm32-unknown-unknown
//! memory = "256MiB"             # in place of [limits], as every key there down to `trial`
//! instances = 1
//! isolation = "exclusive"       # or "shared", "fresh"; by default what the component's form allows
//! deadline = "5s"               # where request-deadline and event-deadline are longer
//! body = "64KiB"                # where that of [limits] is longer
//! health = "/health"            # a route of its own that is asked before a version is published
//! digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
//!
//! [module.breaker]              # of the module above, in place of [limits.breaker]; likewise [module.trial]
//! crashes = 5
//!
//! [module.grant]                # of the module above; by default nothing
//! clocks = true                 # the time of day
//! random = true
//! output = true                 # standard output and error go to the log
//! environment = { STORE_DIR = "/data", TOKEN = { from = "SHOP_TOKEN" } }
//! directories = [{ host = "data", guest = "/data", access = "read-write" }]
//! sockets = ["127.0.0.1:5432", "db.internal:5432"]
//! http = ["api.example.com", "127.0.0.1:8080"]
//!
//! [limits]
//! memory = "64MiB"              # of an instance
//! table-elements = 100000       # of a table of an instance
//! stack = "512KiB"              # of a call
//! instances = 128               # of a module at a time
//! in-flight = 64                # calls that share an instance of an asynchronous module
//! queue = 1024                  # calls that wait for an instance; then it is 503
//! queue-wait = "1s"             # for an instance; then it is 503
//! reuse = 100000                # calls that an instance serves
//! idle = "1m"                   # then an instance is freed
//! cpu = "10s"                   # processor time of a call
//! headers = "64KiB"             # of a request, names and values together
//! log-lines = 1000              # of a call
//! emits = 1000                  # of a call
//! probe = "10s"                 # for instantiating a module at load
//! drain = "30s"                 # for calls of a version that was replaced
//!
//! breaker = { crashes = 20, pause = "100ms", longest = "30s" }    # 0 crashes: never hold back
//! trial = { calls = 100, crashes = 3 }                            # 0 crashes: never take back
//!
//! request-deadline = "30s"
//! body = "2MiB"                 # of a request
//! event-queue = 1024            # emitted events that wait for one listener
//! event-deadline = "30s"        # for a listener of an emitted event
//! payload = "2MiB"              # of an event, and of what a listener returns
//! header-timeout = "10s"
//! body-timeout = "30s"
//! shutdown-grace = "10s"
//!
//! [admin]                       # by default there is none
//! socket = "admin.sock"         # or an address with a token: listen = "127.0.0.1:9090"
//! # token-file = "admin.token"
//!
//! [state]                       # by default there is none
//! directory = "state"           # which version of each module is current, and the versions
//!
//! [cache]
//! enabled = true
//! directory = "cache"           # by default `cache` in the state directory, or ~/.cache/pointwork
//!
//! [compile]
//! size = "64MiB"                # of a component
//! time = "1m"                   # of the processor
//! memory = "2GiB"
//! at-once = 1
//!
//! [channels.db]
//! driver = "sqlite"
//! path = "products.sqlite"
//! schema = "schema.sql"
//!
//! [channels.db.on."product:one"]
//! query-one = "SELECT id, name FROM products WHERE id = :id"
//! ```
//!
//! # What a module may reach
//!
//! A module gets what `[module.grant]` says and nothing else (spec C5); one that imports more is refused.
//!
//! | key | grants |
//! |---|---|
//! | `clocks` | the time of day, and a clock that only goes forward |
//! | `random` | random numbers |
//! | `output` | standard output and error, line by line into the log |
//! | `environment` | these entries; `{ from = "NAME" }` takes the value of a variable of the host, which must be set |
//! | `directories` | the directory `host` as the absolute path `guest`; `read-only` unless `access` says otherwise |
//! | `sockets` | TCP connections to these hosts and ports; a name is looked up for each |
//! | `http` | HTTP requests to these hosts; without a port it is that of the scheme |
//!
//! A list or table that is empty grants the interface alone, for a module that imports it and can do without. A
//! directory with `read-write` is created when the server starts; any other has to be there.
//!
//! # Rules
//!
//! Keys are in kebab case. Relative paths are relative to the file. An unknown key is an error, never ignored: a limit
//! that was misspelt must not go unnoticed. Every error names file, line and column.

mod channels;
mod grant;
mod hosts;
mod limits;
mod operation;
mod problem;
mod raw;
mod values;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

pub(crate) use self::channels::{Driver, ResponseChannel, SqliteChannel};
pub(crate) use self::grant::{Access, Directory, Grant, Variable};
pub(crate) use self::hosts::Listen;
pub(crate) use self::limits::{Isolation, Limits, ModuleLimits, OwnLimits};
pub(crate) use self::operation::{Admin, AdminAddress, Cache, Compile};
pub(crate) use self::problem::Position;
pub(crate) use self::values::Prefix;
use crate::adapters::Adapter;
use crate::error::{Error, Result};
use crate::exit::Exit;

/// The name of the file that `serve` and `routes` read when they are told of none.
pub(crate) const FILE_NAME: &str = "pointwork.toml";

/// A configuration, with its paths resolved. What the file leaves out is `None`, for the runtime's default.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Config {
    /// The file it stands in, for errors; empty if it comes from the command line alone.
    pub(crate) file: PathBuf,
    /// Where to listen.
    pub(crate) listen: Option<Listen>,
    /// The HTTP server to run on.
    pub(crate) adapter: Option<Adapter>,
    /// The global prefix, as written (spec G1).
    pub(crate) prefix: Option<Prefix>,
    /// Whether `/a/` is `/a` (spec A8).
    pub(crate) trailing_slash: Option<TrailingSlash>,
    /// Whether components are swapped when their files change (spec S3).
    pub(crate) watch: bool,
    /// The modules, in their order (spec D9).
    pub(crate) modules: Vec<Module>,
    /// What requests, events and modules may take.
    pub(crate) limits: Limits,
    /// Where the admin endpoint listens; by default nowhere (spec S3).
    pub(crate) admin: Option<Admin>,
    /// The directory that says which version of each module is current.
    pub(crate) state: Option<PathBuf>,
    /// Where compiled components are kept.
    pub(crate) cache: Cache,
    /// What compiling may take.
    pub(crate) compile: Compile,
    /// The native channels by name.
    pub(crate) channels: BTreeMap<String, Driver>,
}

/// What a slash at the end of a request's path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TrailingSlash {
    /// Part of the path: `/a/` is another path than `/a`.
    Distinct,
    /// Nothing: `/a/` is `/a`.
    Match,
}

/// A module to load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Module {
    /// Its name in the route table, the logs and the errors; no two modules share one.
    pub(crate) name: String,
    /// The component.
    pub(crate) path: PathBuf,
    /// The cargo package that it is built from.
    pub(crate) build: Option<PathBuf>,
    /// The compiler's target for that package. What the file leaves out is the one for controllers.
    pub(crate) target: Option<String>,
    /// What it may take in place of the limits for all modules.
    pub(crate) limits: ModuleLimits,
    /// What only one module can have.
    pub(crate) own: OwnLimits,
    /// What it may reach.
    pub(crate) grant: Grant,
}

impl Module {
    /// A component of its own: nothing to build it from, no limits of its own, nothing granted.
    pub(crate) fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            path: path.into(),
            build: None,
            target: None,
            limits: ModuleLimits::default(),
            own: OwnLimits::default(),
            grant: Grant::default(),
        }
    }
}

impl Config {
    /// Reads the configuration at `path`, or the `pointwork.toml` of the current directory.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or it is no configuration: exit code 3, with file, line and column.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self> {
        let file = path.unwrap_or(Path::new(FILE_NAME));
        let text = std::fs::read_to_string(file).map_err(|error| {
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            let error = Error::new(
                Exit::Config,
                format!("cannot read the configuration `{}`", file.display()),
            )
            .with_source(error);
            match path {
                None if missing => error.with_hint("name a file with `--config FILE`, or the modules themselves"),
                _ => error,
            }
        })?;
        Self::parse(&text, file)
    }

    /// Reads `text` as the configuration that stands in `file`.
    ///
    /// # Errors
    ///
    /// It is no configuration.
    pub(crate) fn parse(text: &str, file: &Path) -> Result<Self> {
        let base = file.parent().unwrap_or(Path::new(""));
        let mut config = raw::read(text, base).map_err(|problem| problem.into_error(text, file))?;
        config.file = file.to_owned();
        Ok(config)
    }
}

#[cfg(test)]
mod tests;
