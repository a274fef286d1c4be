//! The configuration file, `pointwork.toml`.
//!
//! ```toml
//! listen = "127.0.0.1:8080"     # port 0 is a free one
//! adapter = "hyper"
//! prefix = "/api"               # before every path
//! trailing-slash = "distinct"   # or "match": /products/ is the same as /products
//! watch = false                 # swap a component when its file changes
//! access-log = false            # log each request
//! trusted-proxies = ["10.0.0.0/8"] # `Forwarded` and `X-Forwarded-…` of these addresses are believed; default: none
//!
//! [[module]]                    # routes are listed in the order of the modules
//! name = "products"             # default: the file's name without `.wasm`
//! path = "target/pointwork/products.wasm"
//! build = "controllers"         # a cargo package to build it from
//!
//! [[module]]
//! path = "target/pointwork/store.wasm"
//! build = "store"
//! target = "wasm32-wasip2"      # of the compiler; default: wasm32-unknown-unknown
//! memory = "256MiB"             # limits in place of those in [limits]
//! breaker = { crashes = 5 }
//! isolation = "exclusive"       # or "shared", "fresh"; by default the first that the component's form allows
//! health = "/health"            # a route of the module that is requested before a version is published
//! digest = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
//!
//! [module.grant]                # of the module above; default: nothing
//! clocks = true                 # the time of day
//! random = true
//! output = true                 # standard output and error, to the log
//! environment = { STORE_DIR = "/data", TOKEN = { from = "SHOP_TOKEN" } }
//! directories = [{ host = "data", guest = "/data", access = "read-write" }]
//! sockets = ["127.0.0.1:5432", "db.internal:5432"]
//! http = ["api.example.com", "127.0.0.1:8080"]
//!
//! [limits]                      # of all modules; every key is listed in docs/limits.md
//! memory = "64MiB"
//! queue-wait = "1s"
//! breaker = { crashes = 20, pause = "100ms", longest = "30s" }
//! request-deadline = "1m 30s"
//!
//! [admin]                       # default: no admin endpoint
//! socket = "admin.sock"         # or an address with a token: listen = "127.0.0.1:9090"
//! # token-file = "admin.token"
//!
//! [state]                       # default: nothing is kept
//! directory = "state"           # the current version of each module, and the components
//!
//! [cache]
//! enabled = true
//! directory = "cache"           # default: `cache` in the state directory, or ~/.cache/pointwork
//!
//! [compile]                     # limits of compiling
//! memory = "2GiB"
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
//! # Grants
//!
//! A module may import the contract and what `[module.grant]` grants (spec C5). A module that imports more is refused.
//!
//! | key | grants |
//! |---|---|
//! | `clocks` | the time of day, and a monotonic clock |
//! | `random` | random numbers |
//! | `output` | standard output and error, written to the log line by line |
//! | `environment` | these variables; `{ from = "NAME" }` is the value of the host's variable, which must be set |
//! | `directories` | the directory `host` at the absolute path `guest`; `access` is `read-only` (the default) or `read-write` |
//! | `sockets` | TCP connections to these hosts and ports; a name is resolved for each connection |
//! | `http` | HTTP requests to these hosts; without a port, to the default port of the scheme |
//!
//! An empty list or table grants the interface alone, for a module that imports it but does not need it. A directory with
//! `read-write` is created when the server starts; a directory with `read-only` must exist.
//!
//! # Rules
//!
//! Keys are in kebab case. Paths are relative to the file. Times are written `30s` or `1m 30s`, sizes `2MiB` (2,097,152
//! bytes) or `2MB` (2,000,000 bytes). An unknown key is an error. Every error names file, line and column.

mod adapter;
mod channels;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz;
mod grant;
mod hosts;
mod limits;
mod operation;
mod problem;
mod read;
mod table;
mod values;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use pointwork::Isolation;
use serde::Deserialize;

pub(crate) use self::adapter::Adapter;
pub(crate) use self::channels::{Driver, ResponseChannel, SqliteChannel};
pub(crate) use self::grant::{Access, Directory, Grant, Variable};
pub(crate) use self::hosts::Listen;
pub(crate) use self::limits::LimitValues;
pub(crate) use self::operation::{Admin, AdminAddress, Cache};
pub(crate) use self::values::{Digest, Health, Network, Prefix};
use crate::error::{Error, Result};
use crate::exit::Exit;

/// The file that `serve` and `routes` read by default.
pub(crate) const FILE_NAME: &str = "pointwork.toml";

const NO_FILE: &str = "\
`pointwork new NAME` creates a project with one
`--config FILE` names the configuration of another folder
a component on the command line needs none: `pointwork serve shop.wasm`";

/// A configuration with its paths resolved. `None` is the runtime's default.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Config {
    /// The file, for errors; empty if the configuration comes from the command line alone.
    #[serde(skip)]
    pub(crate) file: PathBuf,
    /// The content of the file.
    #[serde(skip)]
    pub(crate) text: String,
    /// Whether replies show crashes, and crashes have no further consequence: `pointwork dev`.
    #[serde(skip)]
    pub(crate) development: bool,
    pub(crate) listen: Option<Listen>,
    pub(crate) adapter: Option<Adapter>,
    /// The global prefix, as written (spec G1).
    pub(crate) prefix: Option<Prefix>,
    /// Whether `/a/` is the same path as `/a` (spec A8).
    pub(crate) trailing_slash: Option<TrailingSlash>,
    /// Whether components are swapped when their files change (spec S3).
    pub(crate) watch: bool,
    /// Whether each request is logged.
    pub(crate) access_log: bool,
    /// The networks of the proxies that are believed (spec H9).
    pub(crate) trusted_proxies: Vec<Network>,
    /// The modules, in their order (spec D9).
    #[serde(skip)]
    pub(crate) modules: Vec<Module>,
    /// The limits of `[limits]` and `[compile]`.
    #[serde(skip)]
    pub(crate) limits: LimitValues,
    /// Whether calls of a module share instances.
    #[serde(skip)]
    pub(crate) isolation: Option<Isolation>,
    /// The admin endpoint; `None` for none (spec S3).
    #[serde(skip)]
    pub(crate) admin: Option<Admin>,
    /// The directory that keeps the current version of each module.
    #[serde(deserialize_with = "operation::state")]
    pub(crate) state: Option<PathBuf>,
    /// The cache of compiled components.
    pub(crate) cache: Cache,
    /// The native channels by name.
    #[serde(skip)]
    pub(crate) channels: BTreeMap<String, Driver>,
}

/// Whether a slash at the end of a request's path counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TrailingSlash {
    /// `/a/` is another path than `/a`.
    Distinct,
    /// `/a/` is the same path as `/a`.
    Match,
}

/// A module to load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Module {
    /// The name in the route table, in logs and in errors. It is unique.
    #[serde(default)]
    pub(crate) name: String,
    /// The component.
    pub(crate) path: PathBuf,
    /// The cargo package that the component is built from.
    pub(crate) build: Option<PathBuf>,
    /// The compiler's target for the package; `None` is the target of controllers.
    pub(crate) target: Option<String>,
    /// The capabilities beyond the contract.
    #[serde(default)]
    pub(crate) grant: Grant,
    /// The path that is requested before a version is published.
    pub(crate) health: Option<Health>,
    /// The SHA-256 of the component.
    pub(crate) digest: Option<Digest>,
    /// Whether calls share instances, in place of the setting for all modules.
    pub(crate) isolation: Option<Isolation>,
    /// The limits in place of those of all modules.
    #[serde(skip)]
    pub(crate) limits: LimitValues,
}

impl Module {
    /// A module with the defaults: no package, no limits of its own, no grants.
    pub(crate) fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            path: path.into(),
            ..Self::default()
        }
    }
}

impl Config {
    /// Reads the configuration at `path`, by default `pointwork.toml` in the current directory.
    ///
    /// # Errors
    ///
    /// The file cannot be read, or is not a valid configuration: exit code 3, with file, line and column.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self> {
        let file = path.unwrap_or(Path::new(FILE_NAME));
        let text = std::fs::read_to_string(file).map_err(|error| {
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            let unreadable = Error::new(
                Exit::Config,
                format!("cannot read the configuration `{}`", file.display()),
            );
            match path {
                None if missing => {
                    Error::new(Exit::Config, format!("there is no `{FILE_NAME}` in this folder")).with_hint(NO_FILE)
                }
                _ => unreadable.with_source(error),
            }
        })?;
        Self::parse(&text, file)
    }

    pub(crate) fn parse(text: &str, file: &Path) -> Result<Self> {
        let base = file.parent().unwrap_or(Path::new(""));
        Ok(Self {
            file: file.to_owned(),
            text: text.to_owned(),
            ..read::read(text, base).map_err(|problem| problem.into_error(text, file))?
        })
    }

    /// The place of a part of the file: file, line and column.
    pub(crate) fn place(&self, span: &Range<usize>) -> String {
        problem::place(&self.file, &self.text, span.start)
    }
}

#[cfg(test)]
mod tests;
