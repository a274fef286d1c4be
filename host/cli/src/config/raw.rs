//! The file as it is written, and the way from there to a [`Config`].

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

use super::grant::{Grant, RawGrant};
use super::hosts::Listen;
use super::limits::{Isolation, ModuleLimits, OwnLimits, RawBreaker, RawLimits, RawTrial, with_module_limits};
use super::operation::{RawAdmin, RawCache, RawCompile, RawState};
use super::problem::Problem;
use super::values::{Count, Digest, Health, Prefix, Size, Time, Whole};
use super::{Config, Module, TrailingSlash, channels, operation};
use crate::adapters::Adapter;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawConfig {
    listen: Option<Listen>,
    adapter: Option<Adapter>,
    prefix: Option<Prefix>,
    trailing_slash: Option<TrailingSlash>,
    #[serde(default)]
    watch: bool,
    #[serde(default)]
    module: Vec<RawModule>,
    #[serde(default)]
    limits: RawLimits,
    admin: Option<Spanned<RawAdmin>>,
    state: Option<RawState>,
    #[serde(default)]
    cache: RawCache,
    #[serde(default)]
    compile: RawCompile,
    /// Read by [`channels`], each table by the rules of its driver.
    #[serde(rename = "channels")]
    _channels: Option<IgnoredAny>,
}

with_module_limits! {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case")]
    struct RawModule {
        name: Option<Spanned<String>>,
        path: Spanned<PathBuf>,
        build: Option<PathBuf>,
        target: Option<Spanned<String>>,
        grant: Option<RawGrant>,
        deadline: Option<Time>,
        body: Option<Size>,
        health: Option<Health>,
        digest: Option<Digest>,
    }
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
        watch: raw.watch,
        modules: modules(raw.module, text, base)?,
        limits: raw.limits.into(),
        admin: raw.admin.map(|admin| operation::admin(admin, base)).transpose()?,
        state: raw.state.map(|state| base.join(state.directory)),
        cache: raw.cache.read(base),
        compile: raw.compile.into(),
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
        let limits = self.module_limits();
        Ok(Module {
            name,
            path: base.join(self.path.into_inner()),
            build: self.build.map(|package| base.join(package)),
            target: self.target.map(Spanned::into_inner),
            limits,
            own: OwnLimits {
                deadline: self.deadline.map(|time| time.0),
                body: self.body.map(|size| size.0),
                health: self.health.map(|health| health.0),
                digest: self.digest.map(|digest| digest.0),
            },
            grant: match self.grant {
                Some(grant) => grant.read(text, base)?,
                None => Grant::default(),
            },
        })
    }
}
