//! From the text of a file to a [`Config`].

use std::ops::Range;
use std::path::{Path, PathBuf};

use pointwork::Isolation;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::grant::{Grant, RawGrant};
use super::hosts::Listen;
use super::limits::{LimitTable, LimitValues};
use super::operation::{RawAdmin, RawCache, RawState};
use super::problem::Problem;
use super::values::{Digest, Health, Prefix};
use super::{Adapter, Config, Module, TrailingSlash, channels, operation, table};

/// The keys of the file that [`read`] reads by hand.
const BY_HAND: &[&str] = &["module", "limits", "compile", "channels"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawConfig {
    listen: Option<Listen>,
    adapter: Option<Adapter>,
    prefix: Option<Prefix>,
    trailing_slash: Option<TrailingSlash>,
    #[serde(default)]
    watch: bool,
    admin: Option<Spanned<RawAdmin>>,
    state: Option<RawState>,
    #[serde(default)]
    cache: RawCache,
}

/// The table `[limits]`, without the limits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawLimits {
    isolation: Option<Isolation>,
}

/// A table `[[module]]`, without the limits.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawModule {
    name: Option<Spanned<String>>,
    path: Spanned<PathBuf>,
    build: Option<PathBuf>,
    target: Option<Spanned<String>>,
    grant: Option<RawGrant>,
    health: Option<Health>,
    digest: Option<Digest>,
    isolation: Option<Isolation>,
}

/// Reads the text of a file in the directory `base`.
pub(super) fn read(text: &str, base: &Path) -> Result<Config, Problem> {
    let root = DeTable::parse(text)?;
    let (span, mut root) = (root.span(), root.into_inner());
    let channels = channels::read(root.remove("channels").as_ref(), text, base)?;
    let mut limits = LimitValues::default();
    let mut isolation = None;
    if let Some(value) = root.remove("limits") {
        let (span, mut table) = table::of("limits", value)?;
        limits.take(&mut table, LimitTable::All, text)?;
        isolation = table::read::<RawLimits>(span, table, &LimitTable::All.keys())?.isolation;
    }
    if let Some(value) = root.remove("compile") {
        let (_, mut table) = table::of("compile", value)?;
        limits.take(&mut table, LimitTable::Compile, text)?;
        table::expect_empty(&table, &LimitTable::Compile.keys())?;
    }
    let modules = match root.remove("module") {
        Some(value) => modules(value, text, base)?,
        None => Vec::new(),
    };
    let raw: RawConfig = table::read(span, root, BY_HAND)?;
    Ok(Config {
        file: PathBuf::new(),
        listen: raw.listen,
        adapter: raw.adapter,
        prefix: raw.prefix,
        trailing_slash: raw.trailing_slash,
        watch: raw.watch,
        modules,
        limits,
        isolation,
        admin: raw.admin.map(|admin| operation::admin(admin, base)).transpose()?,
        state: raw.state.map(|state| base.join(state.directory)),
        cache: raw.cache.read(base),
        channels,
    })
}

fn modules(value: Spanned<DeValue<'_>>, text: &str, base: &Path) -> Result<Vec<Module>, Problem> {
    let span = value.span();
    let DeValue::Array(tables) = value.into_inner() else {
        return Err(Problem::new(span, "`module` is not a list of tables").with_hint("write `[[module]]`"));
    };
    let mut modules: Vec<Module> = Vec::with_capacity(tables.len());
    for value in tables {
        let (span, mut table) = table::of("module", value)?;
        let mut limits = LimitValues::default();
        limits.take(&mut table, LimitTable::Module, text)?;
        let raw: RawModule = table::read(span, table, &LimitTable::Module.keys())?;
        let (name, span) = raw.name();
        if name.is_empty() {
            return Err(Problem::new(span, "a module has no name").with_hint("give it one: name = \"…\""));
        }
        if modules.iter().any(|other| other.name == name) {
            return Err(Problem::new(span, format!("two modules have the name `{name}`"))
                .with_hint("give each module a name of its own: name = \"…\""));
        }
        modules.push(raw.read(name, limits, text, base)?);
    }
    Ok(modules)
}

impl RawModule {
    /// The module's name and its place in the file. The default is the name of the component's file.
    fn name(&self) -> (String, Range<usize>) {
        match &self.name {
            Some(name) => (name.get_ref().clone(), name.span()),
            None => {
                let stem = self.path.get_ref().file_stem().unwrap_or_default();
                (stem.to_string_lossy().into_owned(), self.path.span())
            }
        }
    }

    fn read(self, name: String, limits: LimitValues, text: &str, base: &Path) -> Result<Module, Problem> {
        if let (Some(target), None) = (&self.target, &self.build) {
            return Err(Problem::new(target.span(), "`target` without `build`")
                .with_hint("cargo builds the package that `build` names for this target"));
        }
        Ok(Module {
            name,
            path: base.join(self.path.into_inner()),
            build: self.build.map(|package| base.join(package)),
            target: self.target.map(Spanned::into_inner),
            limits,
            isolation: self.isolation,
            health: self.health.map(|health| health.0),
            digest: self.digest.map(|digest| digest.0),
            grant: match self.grant {
                Some(grant) => grant.read(text, base)?,
                None => Grant::default(),
            },
        })
    }
}
