//! The table `[nats]`, channels of the driver `nats`, and the tables `[[serve]]`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::channels::{Driver, check_event};
use super::problem::Problem;
use super::table;
use super::values::ChannelName;

/// The servers, and who connects to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NatsServers {
    pub(crate) servers: Vec<String>,
    pub(crate) credentials_file: Option<PathBuf>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) prefix: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawNats {
    servers: Spanned<Vec<String>>,
    credentials_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    prefix: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawChannel {
    #[serde(rename = "driver")]
    _driver: IgnoredAny,
    on: Spanned<Vec<Spanned<String>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawServe {
    channel: Spanned<ChannelName>,
    at_once: Option<Spanned<u16>>,
}

/// Reads the table `[nats]` of a file in the folder `base`.
pub(super) fn read(value: Option<Spanned<DeValue<'_>>>, base: &Path) -> Result<Option<NatsServers>, Problem> {
    let Some(value) = value else { return Ok(None) };
    let (span, nats) = table::of("nats", value)?;
    let raw: RawNats = table::read(span, nats, &[])?;
    if raw.servers.get_ref().is_empty() {
        let problem = Problem::new(raw.servers.span(), "`servers` is empty");
        return Err(problem.with_hint("name one or more, such as [\"nats://127.0.0.1:4222\"]"));
    }
    if let Some(prefix) = raw.prefix.as_ref().filter(|prefix| prefix.get_ref().is_empty()) {
        return Err(Problem::new(prefix.span(), "`prefix` is empty"));
    }
    Ok(Some(NatsServers {
        servers: raw.servers.into_inner(),
        credentials_file: raw.credentials_file.map(|file| base.join(file)),
        ca_file: raw.ca_file.map(|file| base.join(file)),
        prefix: raw.prefix.map_or_else(|| "pointwork".to_owned(), Spanned::into_inner),
    }))
}

/// Reads the table of a channel: its events.
pub(super) fn channel(table: ValueDeserializer<'_>) -> Result<Vec<String>, Problem> {
    let raw = RawChannel::deserialize(table)?;
    if raw.on.get_ref().is_empty() {
        let problem = Problem::new(raw.on.span(), "the channel has no events");
        return Err(problem.with_hint("name those that its listeners elsewhere hear, such as on = [\"item:reserve\"]"));
    }
    let mut events = Vec::new();
    for event in raw.on.into_inner() {
        check_event(&event)?;
        if events.contains(event.get_ref()) {
            return Err(Problem::new(
                event.span(),
                format!("the event `{}` stands twice", event.get_ref()),
            ));
        }
        events.push(event.into_inner());
    }
    Ok(events)
}

/// Reads the tables `[[serve]]`: how many calls of each channel run beside each other.
pub(super) fn serve(
    value: Option<Spanned<DeValue<'_>>>,
    channels: &BTreeMap<String, Driver>,
) -> Result<BTreeMap<String, u16>, Problem> {
    let mut served = BTreeMap::new();
    let Some(value) = value else { return Ok(served) };
    let span = value.span();
    let DeValue::Array(tables) = value.into_inner() else {
        return Err(Problem::new(span, "`serve` is not a list of tables").with_hint("write `[[serve]]`"));
    };
    for value in tables {
        let (span, table) = table::of("serve", value)?;
        let RawServe { channel, at_once } = table::read(span, table, &[])?;
        let (span, name) = (channel.span(), channel.into_inner().0);
        if matches!(channels.get(&name), Some(Driver::Nats(_))) {
            let message =
                format!("the channel `{name}` is served, and its listeners are elsewhere by [channels.{name}]");
            return Err(Problem::new(span, message));
        }
        if let Some(zero) = at_once.as_ref().filter(|at_once| *at_once.get_ref() == 0) {
            return Err(Problem::new(zero.span(), "`at-once` is 0, expected 1 or more"));
        }
        if served
            .insert(name.clone(), at_once.map_or(16, Spanned::into_inner))
            .is_some()
        {
            return Err(Problem::new(span, format!("the channel `{name}` is served twice")));
        }
    }
    Ok(served)
}
