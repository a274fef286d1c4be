//! The tables below `[channels]`, each parsed by the rules of its driver.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::nats;
use super::problem::Problem;
#[cfg(feature = "sqlite")]
use super::sqlite;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Driver {
    /// Statements on an SQLite database.
    #[cfg(feature = "sqlite")]
    Sqlite(sqlite::SqliteChannel),
    /// Listeners in another process, to these events.
    Nats(Vec<String>),
    /// Replies to the request whose context was handed over: the status by event. Without any in the file it is `send`, 200
    /// (spec H6).
    Response(BTreeMap<String, u16>),
}

impl Driver {
    /// The file with the schema of its database.
    pub(super) fn schema(&self) -> Option<&Path> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite(channel) => channel.schema.as_deref(),
            Self::Nats(_) | Self::Response(_) => None,
        }
    }
}

const DRIVERS: &[&str] = &["nats", "response", "sqlite"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawResponse {
    #[serde(rename = "driver")]
    _driver: IgnoredAny,
    #[serde(default)]
    on: BTreeMap<Spanned<String>, RawReply>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawReply {
    status: Spanned<u16>,
}

/// Parses the table `[channels]` of a file in the folder `base`.
pub(super) fn read(table: Option<&Spanned<DeValue<'_>>>, base: &Path) -> Result<BTreeMap<String, Driver>, Problem> {
    let Some(table) = table else {
        return Ok(BTreeMap::new());
    };
    let Some(channels) = table.get_ref().as_table() else {
        return Err(Problem::new(
            table.span(),
            "`channels` is not a table; expected tables like `[channels.db]`",
        ));
    };
    let mut read = BTreeMap::new();
    for (key, value) in channels {
        let name = key.get_ref().as_ref();
        if name.is_empty() || name.contains(':') {
            return Err(
                Problem::new(key.span(), format!("`{name}` cannot be the name of a channel"))
                    .with_hint("a name is not empty and has no `:`, which stands between channel and event"),
            );
        }
        let channel = driver(key.span(), name, value, base)?;
        read.insert(name.to_owned(), channel);
    }
    Ok(read)
}

fn driver(key: Range<usize>, name: &str, value: &Spanned<DeValue<'_>>, base: &Path) -> Result<Driver, Problem> {
    let Some(driver) = value.get_ref().get("driver") else {
        return Err(
            Problem::new(key, format!("channel `{name}` has no `driver`")).with_hint(format!(
                "expected {}",
                crate::suggest::list(DRIVERS.iter().copied(), "or")
            )),
        );
    };
    let table = ValueDeserializer::from(value.clone());
    match driver.get_ref().as_str() {
        #[cfg(feature = "sqlite")]
        Some("sqlite") => sqlite::read(table, base).map(Driver::Sqlite),
        #[cfg(not(feature = "sqlite"))]
        Some("sqlite") => {
            let _ = base;
            let problem = Problem::new(driver.span(), "this program has no driver `sqlite`");
            Err(problem.with_hint("build it with the feature `sqlite` of pointwork-config"))
        }
        Some("nats") => nats::channel(table).map(Driver::Nats),
        Some("response") => response(RawResponse::deserialize(table)?).map(Driver::Response),
        Some(other) => Err(Problem::unknown(driver.span(), "driver", other, DRIVERS)),
        None => Err(Problem::new(driver.span(), "`driver` is not a string")),
    }
}

fn response(raw: RawResponse) -> Result<BTreeMap<String, u16>, Problem> {
    let mut on = BTreeMap::new();
    for (event, reply) in raw.on {
        check_event(&event)?;
        if !(200..=599).contains(reply.status.get_ref()) {
            let message = format!("`{}` is not the status of a reply", reply.status.get_ref());
            return Err(Problem::new(reply.status.span(), message).with_hint("expected 200 to 599"));
        }
        on.insert(event.into_inner(), reply.status.into_inner());
    }
    if on.is_empty() {
        on.insert("send".to_owned(), 200);
    }
    Ok(on)
}

pub(super) fn check_event(event: &Spanned<String>) -> Result<(), Problem> {
    if event.get_ref().is_empty() {
        return Err(Problem::new(event.span(), "an event without a name"));
    }
    Ok(())
}
