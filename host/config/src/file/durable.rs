//! The tables below `[durable]`, and the table `[journal]`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use pointwork::{DurableOptions, Order, Pointer, SERVER_CHANNEL};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::limits::{LimitTable, LimitValues};
use super::problem::Problem;
use super::source::Source;
use super::{table, values::ChannelName};

/// A durable channel.
#[derive(Debug, PartialEq)]
pub(crate) struct DurableChannel {
    pub(crate) store: Store,
    pub(crate) options: DurableOptions,
}

/// Where the events of a channel are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    /// The journal, a file on this machine.
    Sqlite,
    /// JetStream.
    Nats,
}

const STORES: &[&str] = &["nats", "sqlite"];

const ORDERS: &[&str] = &["channel", "key", "none"];

/// The file of the store `sqlite`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct JournalFile {
    pub(crate) path: Option<PathBuf>,
    pub(crate) limits: LimitValues,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawDurable {
    store: Spanned<String>,
    order: Option<Spanned<String>>,
    key: Option<Spanned<String>>,
    id: Option<Spanned<String>>,
    backoff: Option<Spanned<Vec<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawJournal {
    path: Option<PathBuf>,
}

/// Reads the durable channels.
pub(super) fn read(
    value: Option<Spanned<DeValue<'_>>>,
    source: &Source,
) -> Result<BTreeMap<String, DurableChannel>, Problem> {
    let Some(value) = value else {
        return Ok(BTreeMap::new());
    };
    let (_, channels) = table::of("durable", value)?;
    let mut read = BTreeMap::new();
    for (key, value) in channels {
        let name: ChannelName = key
            .get_ref()
            .parse()
            .map_err(|error: String| Problem::new(key.span(), error))?;
        if name.0 == SERVER_CHANNEL {
            let problem = Problem::new(key.span(), "the channel `server` cannot be durable");
            return Err(problem.with_hint("its events tell of one process, and are lost with it"));
        }
        let (span, mut channel) = table::of(&name.0, value)?;
        let mut limits = LimitValues::default();
        let partitions = channel.get("partitions").map(Spanned::span);
        let at_once = channel.get("at-once").map(Spanned::span);
        limits.take(&mut channel, LimitTable::Durable, source)?;
        let raw: RawDurable = table::read(span, channel, &LimitTable::Durable.keys())?;
        let store = match raw.store.get_ref().as_str() {
            "nats" => Store::Nats,
            "sqlite" => Store::Sqlite,
            other => return Err(Problem::unknown(raw.store.span(), "store", other, STORES)),
        };
        let mut options = DurableOptions::new();
        limits.apply(&mut options);
        options.order = order(raw.order.as_ref(), raw.key.as_ref())?;
        for (limit, span, fits, order) in [
            ("partitions", partitions, matches!(options.order, Order::Key(_)), "key"),
            ("at-once", at_once, options.order == Order::None, "none"),
        ] {
            if let Some(span) = span.filter(|_| !fits) {
                return Err(Problem::new(span, format!("`{limit}` without `order = \"{order}\"`")));
            }
        }
        options.id = raw.id.as_ref().map(pointer).transpose()?;
        if let Some(backoff) = raw.backoff {
            options.backoff = times(&backoff)?;
        }
        read.insert(name.0, DurableChannel { store, options });
    }
    Ok(read)
}

fn order(order: Option<&Spanned<String>>, key: Option<&Spanned<String>>) -> Result<Order, Problem> {
    let word = order.map_or("channel", |order| order.get_ref());
    match (word, key) {
        ("key", Some(key)) => pointer(key).map(Order::Key),
        ("key", None) => {
            let span = order.map(Spanned::span).unwrap_or_default();
            let problem = Problem::new(span, "`order = \"key\"` without `key`");
            Err(problem.with_hint("name the place of the key in the payload, such as key = \"/order/id\""))
        }
        ("channel" | "none", Some(key)) => Err(Problem::new(key.span(), "`key` without `order = \"key\"`")),
        ("channel", None) => Ok(Order::Channel),
        ("none", None) => Ok(Order::None),
        (other, _) => {
            let span = order.map(Spanned::span).unwrap_or_default();
            Err(Problem::unknown(span, "order", other, ORDERS))
        }
    }
}

fn pointer(text: &Spanned<String>) -> Result<Pointer, Problem> {
    Pointer::new(text.get_ref()).map_err(|error| Problem::new(text.span(), error))
}

fn times(texts: &Spanned<Vec<String>>) -> Result<Vec<std::time::Duration>, Problem> {
    let time = |text: &String| humantime::parse_duration(text).ok().filter(|time| !time.is_zero());
    let times: Option<Vec<_>> = texts.get_ref().iter().map(time).collect();
    times.filter(|times| !times.is_empty()).ok_or_else(|| {
        Problem::new(texts.span(), "`backoff` has no valid times")
            .with_hint("expected one or more times above 0 with their unit, as in [\"1s\", \"1m 30s\"]")
    })
}

/// Reads the table `[journal]`.
pub(super) fn journal(
    value: Option<Spanned<DeValue<'_>>>,
    source: &Source,
    base: &Path,
) -> Result<JournalFile, Problem> {
    let Some(value) = value else {
        return Ok(JournalFile::default());
    };
    let (span, mut journal): (_, DeTable<'_>) = table::of("journal", value)?;
    let mut limits = LimitValues::default();
    limits.take(&mut journal, LimitTable::Journal, source)?;
    let raw: RawJournal = table::read(span, journal, &LimitTable::Journal.keys())?;
    Ok(JournalFile {
        path: raw.path.map(|path| base.join(path)),
        limits,
    })
}
