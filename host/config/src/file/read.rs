//! From the text of a file to a [`Config`].

use std::ops::Range;
use std::path::{Path, PathBuf};

use pointwork::Isolation;
use pointwork_core::is_unprintable;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::limits::{LimitTable, LimitValues};
use super::problem::Problem;
use super::source::Source;
use super::{Config, Module, channels, durable, json, nats, operation, table};

/// The keys of the file that [`read`] reads by hand.
const BY_HAND: &[&str] = &[
    "admin", "module", "limits", "compile", "channels", "durable", "journal", "nats", "serve",
];

/// The keys of an application that a program may set; the others of the file are the command's.
pub(super) const OF_THE_APPLICATION: &[&str] = &[
    "prefix",
    "trailing-slash",
    "access-log",
    "trusted-proxies",
    "state",
    "cache",
    "limits",
    "compile",
    "channels",
    "durable",
    "journal",
    "nats",
    "serve",
];

/// The keys of a module that a program may set, limits aside.
const OF_A_MODULE: &[&str] = &["grant", "variables", "health", "digest", "channels", "isolation"];

/// Reads a file in the directory `base`.
pub(super) fn file(source: &Source, base: &Path) -> Result<Config, Problem> {
    let (span, root) = table::of("settings", tree(source)?)?;
    config(source, span, root, base, LimitTable::All)
}

/// Reads the settings of an application that a program gives.
pub(super) fn application(source: &Source) -> Result<Config, Problem> {
    let (span, settings) = table::of("settings", tree(source)?)?;
    table::expect_keys(&settings, OF_THE_APPLICATION)?;
    config(source, span, settings, Path::new(""), LimitTable::Program)
}

/// Reads the settings of a module that a program gives.
pub(super) fn settings_of_module(source: &Source) -> Result<Module, Problem> {
    let (span, settings) = table::of("settings", tree(source)?)?;
    let mut keys = OF_A_MODULE.to_vec();
    keys.extend(LimitTable::Module.keys());
    table::expect_keys(&settings, &keys)?;
    let mut module = module(source, span, settings)?;
    module.grant.check(Path::new(""))?;
    module.variables.check(Path::new(""))?;
    Ok(module)
}

/// The settings, with the places of all keys and values.
fn tree(source: &Source) -> Result<Spanned<DeValue<'_>>, Problem> {
    match source {
        Source::File { text, .. } => {
            let root = DeTable::parse(text)?;
            Ok(Spanned::new(root.span(), DeValue::Table(root.into_inner())))
        }
        Source::Program { settings, entries, .. } => json::tree(settings, &mut entries.iter().enumerate()),
    }
}

fn config(
    source: &Source,
    span: Range<usize>,
    mut root: DeTable<'_>,
    base: &Path,
    of_limits: LimitTable,
) -> Result<Config, Problem> {
    let channels = channels::read(root.remove("channels").as_ref(), base)?;
    let durable = durable::read(root.remove("durable"), source)?;
    let journal = durable::journal(root.remove("journal"), source, base)?;
    let serve = nats::serve(root.remove("serve"), &channels)?;
    let nats = nats::read(root.remove("nats"), base)?;
    let mut limits = LimitValues::default();
    let mut isolation = None;
    if let Some(value) = root.remove("limits") {
        let (_, mut table) = table::of("limits", value)?;
        limits.take(&mut table, of_limits, source)?;
        let value = table.remove("isolation").map(ValueDeserializer::from);
        isolation = value.map(Isolation::deserialize).transpose()?;
        table::expect_keys(&table, &[&["isolation"], &*of_limits.keys()].concat())?;
    }
    if let Some(value) = root.remove("compile") {
        let (_, mut table) = table::of("compile", value)?;
        limits.take(&mut table, LimitTable::Compile, source)?;
        table::expect_keys(&table, &LimitTable::Compile.keys())?;
    }
    let modules = root.remove("module").map(|value| modules(value, source, base));
    let admin = root.remove("admin");
    let mut config = Config {
        modules: modules.transpose()?.unwrap_or_default(),
        limits,
        isolation,
        channels,
        durable,
        journal,
        nats,
        serve,
        ..table::read(span, root, BY_HAND)?
    };
    config.admin = admin.map(|value| operation::admin(value, base)).transpose()?;
    join(base, &mut config.state);
    join(base, &mut config.cache.directory);
    Ok(config)
}

fn join(base: &Path, path: &mut Option<PathBuf>) {
    *path = path.take().map(|path| base.join(path));
}

fn modules(value: Spanned<DeValue<'_>>, source: &Source, base: &Path) -> Result<Vec<Module>, Problem> {
    let span = value.span();
    let DeValue::Array(tables) = value.into_inner() else {
        return Err(Problem::new(span, "`module` is not a list of tables").with_hint("write `[[module]]`"));
    };
    let mut modules: Vec<Module> = Vec::with_capacity(tables.len());
    for value in tables {
        let (span, table) = table::of("module", value)?;
        let place = |key| table.get(key).map(Spanned::span);
        let (name, path, target) = (place("name"), place("path"), place("target"));
        let mut module = module(source, span.clone(), table)?;
        if path.is_none() {
            return Err(Problem::new(span, "missing key `path`"));
        }
        // The default is the name of the component's file.
        if name.is_none() {
            let stem = module.path.file_stem().unwrap_or_default();
            module.name = stem.to_string_lossy().into_owned();
        }
        let span = name.or(path).unwrap_or(span);
        if module.name.is_empty() {
            return Err(Problem::new(span, "a module has no name").with_hint("give it one: name = \"…\""));
        }
        if module.name.contains(is_unprintable) {
            let message = format!("the name `{}` of a module has an unprintable character", module.name);
            return Err(Problem::new(span, message).with_hint("give it another one: name = \"…\""));
        }
        if modules.iter().any(|other| other.name == module.name) {
            return Err(
                Problem::new(span, format!("two modules have the name `{}`", module.name))
                    .with_hint("give each module a name of its own: name = \"…\""),
            );
        }
        if let (Some(target), None) = (target, &module.build) {
            return Err(Problem::new(target, "`target` without `build`")
                .with_hint("cargo builds the package that `build` names for this target"));
        }
        module.path = base.join(module.path);
        join(base, &mut module.build);
        module.grant.check(base)?;
        module.variables.check(base)?;
        modules.push(module);
    }
    Ok(modules)
}

/// Reads one module, with its paths as written.
fn module(source: &Source, span: Range<usize>, mut table: DeTable<'_>) -> Result<Module, Problem> {
    let mut limits = LimitValues::default();
    limits.take(&mut table, LimitTable::Module, source)?;
    let mut module: Module = table::read(span, table, &LimitTable::Module.keys())?;
    module.limits = limits;
    Ok(module)
}
