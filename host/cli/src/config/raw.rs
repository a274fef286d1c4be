//! The file as it is written, and the way from there to a [`Config`].

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

use super::grant::{Grant, RawGrant};
use super::hosts::Listen;
use super::problem::Problem;
use super::values::{Count, Prefix, Size, Time};
use super::{Config, Limits, Module, ModuleLimits, TrailingSlash, channels};
use crate::adapters::Adapter;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawConfig {
    listen: Option<Listen>,
    adapter: Option<Adapter>,
    prefix: Option<Prefix>,
    trailing_slash: Option<TrailingSlash>,
    #[serde(default)]
    module: Vec<RawModule>,
    #[serde(default)]
    limits: RawLimits,
    /// Read by [`channels`], each table by the rules of its driver.
    #[serde(rename = "channels")]
    _channels: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawModule {
    name: Option<Spanned<String>>,
    path: Spanned<PathBuf>,
    build: Option<PathBuf>,
    target: Option<Spanned<String>>,
    memory: Option<Size>,
    instances: Option<Count>,
    in_flight: Option<Count>,
    queue_wait: Option<Time>,
    grant: Option<RawGrant>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawLimits {
    request_deadline: Option<Time>,
    body: Option<Size>,
    memory: Option<Size>,
    instances: Option<Count>,
    in_flight: Option<Count>,
    queue_wait: Option<Time>,
    header_timeout: Option<Time>,
    body_timeout: Option<Time>,
    shutdown_grace: Option<Time>,
    event_queue: Option<Count>,
    event_deadline: Option<Time>,
    payload: Option<Size>,
}

/// Reads the text of a file that stands in `base`.
pub(super) fn read(text: &str, base: &Path) -> Result<Config, Problem> {
    let table = DeTable::parse(text)?;
    let channels = channels::read(table.get_ref().get("channels"), text, base)?;
    let raw = RawConfig::deserialize(Deserializer::from(table))?;
    Ok(Config {
        file: PathBuf::new(),
        listen: raw.listen,
        adapter: raw.adapter,
        prefix: raw.prefix,
        trailing_slash: raw.trailing_slash,
        modules: modules(raw.module, text, base)?,
        limits: raw.limits.into(),
        channels,
    })
}

fn modules(raw: Vec<RawModule>, text: &str, base: &Path) -> Result<Vec<Module>, Problem> {
    let mut modules: Vec<Module> = Vec::with_capacity(raw.len());
    for raw in raw {
        let (name, span) = raw.name();
        if name.is_empty() {
            return Err(Problem::new(span, "a module without a name").with_hint("give it one: name = \"…\""));
        }
        if modules.iter().any(|other| other.name == name) {
            return Err(Problem::new(span, format!("a second module `{name}`"))
                .with_hint("each module has a name of its own: name = \"…\""));
        }
        modules.push(raw.read(name, text, base)?);
    }
    Ok(modules)
}

impl RawModule {
    /// The module's name, and where it stands: without one it is the file's.
    fn name(&self) -> (String, Range<usize>) {
        match &self.name {
            Some(name) => (name.get_ref().clone(), name.span()),
            None => {
                let stem = self.path.get_ref().file_stem().unwrap_or_default();
                (stem.to_string_lossy().into_owned(), self.path.span())
            }
        }
    }

    fn read(self, name: String, text: &str, base: &Path) -> Result<Module, Problem> {
        if let (Some(target), None) = (&self.target, &self.build) {
            return Err(Problem::new(target.span(), "`target` without `build`")
                .with_hint("it is the target for which cargo builds the package that `build` names"));
        }
        Ok(Module {
            name,
            path: base.join(self.path.into_inner()),
            build: self.build.map(|package| base.join(package)),
            target: self.target.map(Spanned::into_inner),
            limits: ModuleLimits {
                memory: self.memory.map(|size| size.0),
                instances: self.instances.map(|count| count.0),
                in_flight: self.in_flight.map(|count| count.0),
                queue_wait: self.queue_wait.map(|time| time.0),
            },
            grant: match self.grant {
                Some(grant) => grant.read(text, base)?,
                None => Grant::default(),
            },
        })
    }
}

impl From<RawLimits> for Limits {
    fn from(raw: RawLimits) -> Self {
        Self {
            request_deadline: raw.request_deadline.map(|time| time.0),
            body: raw.body.map(|size| size.0),
            memory: raw.memory.map(|size| size.0),
            instances: raw.instances.map(|count| count.0),
            in_flight: raw.in_flight.map(|count| count.0),
            queue_wait: raw.queue_wait.map(|time| time.0),
            header_timeout: raw.header_timeout.map(|time| time.0),
            body_timeout: raw.body_timeout.map(|time| time.0),
            shutdown_grace: raw.shutdown_grace.map(|time| time.0),
            event_queue: raw.event_queue.map(|count| count.0),
            event_deadline: raw.event_deadline.map(|time| time.0),
            payload: raw.payload.map(|size| size.0),
        }
    }
}
