//! The configuration file, `pointwork.toml`.
//!
//! ```toml
//! listen = "127.0.0.1:8080"     # port 0 takes a free one
//! adapter = "hyper"
//! prefix = "/api"               # before every path
//! trailing-slash = "distinct"   # or "match": /products/ is /products
//!
//! [[module]]                    # in the order in which their routes are listed
//! name = "products"             # by default the file's name without `.wasm`
//! path = "target/pointwork/products.wasm"
//! build = "controllers"         # a cargo package to build it from
//!
//! [limits]
//! request-deadline = "30s"
//! body = "2MiB"
//! memory = "64MiB"
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
//! Keys are in kebab case. Relative paths are relative to the file. An unknown key is an error, never ignored: a limit
//! that was misspelt must not go unnoticed. Every error names file, line and column.

mod channels;
mod problem;
mod raw;
mod values;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

pub(crate) use self::channels::{Driver, ResponseChannel, SqliteChannel, SqliteStatement, StatementKind};
pub(crate) use self::values::{Listen, Prefix};
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
    /// The modules, in their order (spec D9).
    pub(crate) modules: Vec<Module>,
    /// What a request and an instance may take.
    pub(crate) limits: Limits,
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
}

/// What a request and an instance may take. Times are written `30s` or `1m 30s`, sizes `2MiB` (2,097,152 bytes) or `2MB`
/// (2,000,000 bytes).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The time from a request's head to its reply's head.
    pub(crate) request_deadline: Option<Duration>,
    /// The largest request body, in bytes.
    pub(crate) body: Option<u64>,
    /// The memory of one instance, in bytes.
    pub(crate) memory: Option<u64>,
    /// The instances of one module at a time.
    pub(crate) instances: Option<usize>,
    /// The requests that share an instance of an asynchronous module.
    pub(crate) in_flight: Option<usize>,
    /// The time that a request waits for an instance before it is refused with 503.
    pub(crate) queue_wait: Option<Duration>,
    /// The time that a client has for the first byte of a request on a new connection, and for the head from then on.
    pub(crate) header_timeout: Option<Duration>,
    /// The time that a client may leave between two pieces of a body.
    pub(crate) body_timeout: Option<Duration>,
    /// The time that requests in flight have to end once the server was told to stop.
    pub(crate) shutdown_grace: Option<Duration>,
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
