//! The file and its keys. The documentation of the crate describes them.

mod adapter;
mod channels;
mod durable;
mod grant;
mod hosts;
mod json;
mod limits;
mod nats;
mod operation;
mod problem;
mod read;
mod source;
#[cfg(feature = "sqlite")]
mod sqlite;
mod table;
mod values;
mod variables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pointwork::Isolation;
use pointwork::routing::TrailingSlash;
use pointwork_core::read_text;
use serde::Deserialize;

pub use self::adapter::Adapter;
pub(crate) use self::channels::Driver;
pub(crate) use self::durable::{DurableChannel, JournalFile, Store};
pub(crate) use self::grant::{DirectoryGrant, Grant};
pub use self::hosts::Listen;
pub(crate) use self::limits::LimitValues;
pub(crate) use self::nats::NatsServers;
pub use self::operation::{Admin, AdminAddress, Cache};
use self::problem::Problem;
pub(crate) use self::source::Source;
#[cfg(feature = "sqlite")]
pub(crate) use self::sqlite::SqliteChannel;
pub use self::values::Prefix;
use self::values::{ChannelName, Digest, Health, Network};
use self::variables::VariableTable;
use crate::error::{Error, ErrorKind, Result};

/// The size of the largest file.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The name that the file has by default.
pub const FILE_NAME: &str = "pointwork.toml";

/// A configuration: a file, or the settings that a program gives. The default is an empty file.
///
/// Paths of a file are relative to its folder, and resolved in the fields. Paths of a program's settings are relative to the
/// current directory.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Config {
    /// The texts that were read, for errors.
    #[serde(skip)]
    pub(crate) source: Source,
    /// Whether replies show crashes, and crashes have no further consequence: `pointwork dev`.
    #[serde(skip)]
    pub development: bool,
    /// Whether the functions of modules are listed for `perf`; see [`AppOptions::perf_map`](field@pointwork::AppOptions::perf_map).
    #[serde(skip)]
    pub perf_map: bool,
    /// The address to listen on; `None` for the default of the command.
    pub listen: Option<Listen>,
    /// The HTTP server; `None` for the default of the command.
    pub adapter: Option<Adapter>,
    /// The path before every route's path; see [`App::set_global_prefix`](pointwork::App::set_global_prefix).
    pub prefix: Option<Prefix>,
    /// Whether `/a/` is the same path as `/a` (spec A8).
    pub(crate) trailing_slash: TrailingSlash,
    /// Whether the command swaps components when their files change (spec S3).
    pub watch: bool,
    /// Whether each request is logged.
    pub access_log: bool,
    /// The networks of the proxies that are believed (spec H9).
    pub(crate) trusted_proxies: Vec<Network>,
    /// The modules, in the order in which they are to be loaded (spec D9).
    #[serde(skip)]
    pub modules: Vec<Module>,
    /// The limits of `[limits]` and `[compile]`.
    #[serde(skip)]
    pub(crate) limits: LimitValues,
    /// Whether calls of a module share instances.
    #[serde(skip)]
    pub(crate) isolation: Option<Isolation>,
    /// The admin endpoint; `None` for none (spec S3).
    #[serde(skip)]
    pub admin: Option<Admin>,
    /// The directory that keeps the current version of each module; `None` for none.
    #[serde(deserialize_with = "operation::state")]
    pub state: Option<PathBuf>,
    /// The cache of compiled components.
    pub cache: Cache,
    /// The native channels by name.
    #[serde(skip)]
    pub(crate) channels: BTreeMap<String, Driver>,
    /// The durable channels by name (spec N1).
    #[serde(skip)]
    pub(crate) durable: BTreeMap<String, DurableChannel>,
    /// The file that keeps the events of durable channels.
    #[serde(skip)]
    pub(crate) journal: JournalFile,
    /// The servers of NATS (spec N9).
    #[serde(skip)]
    pub(crate) nats: Option<NatsServers>,
    /// The channels that this process serves to others, and how many calls of each it runs beside each other.
    #[serde(skip)]
    pub(crate) serve: BTreeMap<String, u16>,
}

/// A module to load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Module {
    /// The name in the route table, in logs and in errors. It is unique.
    pub name: String,
    /// The component.
    pub path: PathBuf,
    /// The project that the component is built from: its folder or its manifest.
    pub build: Option<PathBuf>,
    /// The target of the Rust compiler; `None` is the target of controllers.
    pub target: Option<String>,
    /// The capabilities beyond the contract.
    pub(crate) grant: Grant,
    /// The configuration of the module itself.
    pub(crate) variables: VariableTable,
    /// The path that is requested before a version is published.
    pub(crate) health: Option<Health>,
    /// The SHA-256 of the component.
    pub(crate) digest: Option<Digest>,
    /// The channels whose event names it may alter.
    pub(crate) channels: Vec<ChannelName>,
    /// Whether calls share instances, in place of the setting for all modules.
    pub(crate) isolation: Option<Isolation>,
    /// The limits in place of those of all modules.
    #[serde(skip)]
    pub(crate) limits: LimitValues,
}

impl Module {
    /// A module with the defaults: no package, no limits of its own, no grants.
    pub fn new(name: impl Into<String>, path: impl Into<PathBuf>) -> Self {
        Self {
            name: name.into(),
            path: path.into(),
            ..Self::default()
        }
    }
}

impl Config {
    /// Reads a file. It blocks.
    ///
    /// # Errors
    ///
    /// The file cannot be read ([`ErrorKind::Unreadable`]), or is invalid ([`ErrorKind::Invalid`]): then the error names
    /// file, line and column.
    pub fn load(file: impl AsRef<Path>) -> Result<Self> {
        let file = file.as_ref();
        let text = read_text(file, MAX_BYTES).map_err(|error| {
            let message = format!("cannot read the configuration `{}`", file.display());
            Error::new(ErrorKind::Unreadable, message).with_source(error)
        })?;
        Self::parse(&text, file)
    }

    /// Reads the text of a file. Its paths are relative to the folder of `file`, which need not exist.
    ///
    /// # Errors
    ///
    /// The text is invalid; the error names file, line and column.
    pub fn parse(text: &str, file: impl AsRef<Path>) -> Result<Self> {
        let file = file.as_ref();
        let base = file.parent().unwrap_or(Path::new(""));
        let (config, source) = read_from(Source::file(file, text), |source| read::file(source, base))?;
        Ok(Self { source, ..config })
    }

    /// Reads the settings of an application that a program gives: a JSON object with the keys of the file, as in
    /// `{ "prefix": "/api", "limits": { "memory": "64MiB" } }`. A key whose value is `null` counts as absent.
    ///
    /// The keys of the command are unknown: `listen`, `adapter`, `watch`, `admin` and `module`. A module's settings are
    /// read by [`module_from_json`](Self::module_from_json).
    ///
    /// # Errors
    ///
    /// The text is no JSON object, a key is unknown, or a value is invalid; the error names the key from the root on, as in
    /// `limits.memory`.
    pub fn from_json(settings: &str) -> Result<Self> {
        let (config, source) = from_json("the settings", settings, read::application)?;
        Ok(Self { source, ..config })
    }

    /// The file, for messages; empty if there is none.
    pub fn file(&self) -> &Path {
        self.source.path()
    }

    /// The files that are read with the configuration: those of variables, and the schemas of databases.
    pub fn named_files(&self) -> impl Iterator<Item = &Path> {
        let variables = self.modules.iter().flat_map(|module| module.variables.files());
        variables.chain(self.channels.values().filter_map(Driver::schema))
    }
}

impl Module {
    /// Reads the settings of the module `name` that a program gives, and their source.
    pub(crate) fn from_json(name: &str, settings: &str) -> Result<(Self, Source)> {
        let of = format!("the settings of module `{}`", name.escape_debug());
        let (module, source) = from_json(&of, settings, read::settings_of_module)?;
        let name = name.to_owned();
        Ok((Self { name, ..module }, source))
    }
}

/// Reads the settings that a program gives; `name` is theirs, for errors.
fn from_json<T>(name: &str, settings: &str, read: fn(&Source) -> Result<T, Problem>) -> Result<(T, Source)> {
    let settings = json::parse(settings);
    let settings = settings.map_err(|problem| problem.into_error(&Source::program(name, serde_json::Value::Null)))?;
    read_from(Source::program(name, settings), read)
}

fn read_from<T>(source: Source, read: impl FnOnce(&Source) -> Result<T, Problem>) -> Result<(T, Source)> {
    match read(&source) {
        Ok(read) => Ok((read, source)),
        Err(problem) => Err(problem.into_error(&source)),
    }
}

#[cfg(test)]
mod tests;
