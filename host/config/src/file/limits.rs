//! The limits in `[limits]`, `[[module]]` and `[compile]`. Their keys, units and bounds are those of the options' tables
//! ([`Limits::TABLE`]).

use bytesize::ByteSize;
use pointwork::{AppOptions, Breaker, CompileOptions, ModuleLimits, ModuleOptions, Trial};
use pointwork_core::limits::{Amount, Limit, Limits};
use pointwork_core::{BusOptions, DurableOptions, RouterOptions, ServerOptions};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::Problem;
use super::source::Source;
use super::table;

/// The limits that a configuration sets, with their amounts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LimitValues(Vec<(&'static Limit, Amount)>);

/// A TOML table with limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitTable {
    /// `[limits]`
    All,
    /// The same among the settings of a program, which can set every limit.
    Program,
    /// `[[module]]`
    Module,
    /// `[compile]`
    Compile,
    /// `[durable.CHANNEL]`
    Durable,
    /// `[journal]`
    Journal,
}

/// The limits of one struct of options, and the name of the table below that has them as keys; empty for none.
type Group = (&'static str, &'static [Limit]);

const OF_A_MODULE: &[Group] = &[
    ("", ModuleLimits::TABLE),
    ("", ModuleOptions::TABLE),
    ("breaker", Breaker::TABLE),
    ("trial", Trial::TABLE),
];

/// Keys that earlier versions had, with their tables and what to write instead.
const REMOVED: &[(&str, &str, &str)] = &[(
    "trial",
    "crashes",
    "set `share`, the percentage points by which the share of failed calls may exceed that of the version before, or turn the trial off \
     by `calls = 0`",
)];

const OF_THE_APPLICATION: &[Group] = &[
    ("", AppOptions::TABLE),
    ("", RouterOptions::TABLE),
    ("", BusOptions::TABLE),
    ("", ServerOptions::TABLE),
];

#[cfg(feature = "sqlite")]
const JOURNAL: &[Group] = &[("", pointwork_journal::JournalOptions::TABLE)];
#[cfg(not(feature = "sqlite"))]
const JOURNAL: &[Group] = &[];

impl LimitTable {
    fn groups(self) -> impl Iterator<Item = &'static Group> {
        let (groups, more): (&[Group], &[Group]) = match self {
            Self::All | Self::Program => (OF_A_MODULE, OF_THE_APPLICATION),
            Self::Module => (OF_A_MODULE, &[]),
            Self::Compile => (&[("", CompileOptions::TABLE)], &[]),
            Self::Durable => (&[("", DurableOptions::TABLE)], &[]),
            Self::Journal => (JOURNAL, &[]),
        };
        groups.iter().chain(more)
    }

    /// The limits that are keys of the table `below` this one.
    pub(super) fn limits(self, below: &str) -> impl Iterator<Item = &'static Limit> {
        // Such a limit restricts one module further than the application; all modules cannot have it.
        let is_narrower = |limit: &Limit| limit.default.is_none() && ModuleLimits::TABLE.contains(limit);
        let is_key = move |limit: &&Limit| {
            (limit.configurable || self == Self::Program) && (self == Self::Module || !is_narrower(limit))
        };
        let groups = self.groups().filter(move |(name, _)| *name == below);
        groups.flat_map(|(_, limits)| limits.iter()).filter(is_key)
    }

    /// The tables below this one that have limits.
    pub(super) fn below(self) -> impl Iterator<Item = &'static str> {
        let names = self.groups().map(|(name, _)| *name);
        names.filter(|name| !name.is_empty())
    }

    /// The place of a limit, for a message about its key in another table.
    pub(super) fn of_limit(name: &str) -> Option<&'static str> {
        let places = [
            (Self::All, "a key of `[limits]`"),
            (Self::Module, "a key of `[[module]]`"),
            (Self::Compile, "a key of `[compile]`"),
            (Self::Durable, "a key of `[durable.CHANNEL]`"),
            (Self::Journal, "a key of `[journal]`"),
            (Self::Program, "set by a program alone, in its options"),
        ];
        let place = places
            .into_iter()
            .find(|(table, _)| table.limits("").any(|limit| limit.name == name));
        place.map(|(_, place)| place)
    }

    /// The keys that [`LimitValues::take`] reads.
    pub(super) fn keys(self) -> Vec<&'static str> {
        let limits = self.limits("").map(|limit| limit.name);
        let mut keys: Vec<_> = limits.chain(self.below()).collect();
        // The fields of one name are neighbours.
        keys.dedup();
        keys
    }
}

impl LimitValues {
    /// Takes the limits out of a TOML table of `source`; the other keys stay there.
    pub(super) fn take(&mut self, from: &mut DeTable<'_>, kind: LimitTable, source: &Source) -> Result<(), Problem> {
        self.take_keys(from, kind.limits(""), source)?;
        for name in kind.below() {
            if let Some((key, value)) = from.remove_entry(name) {
                let (_, mut below) = table::of(key.get_ref(), value)?;
                self.take_keys(&mut below, kind.limits(name), source)?;
                for (_, removed, hint) in REMOVED.iter().filter(|(table, ..)| *table == name) {
                    if let Some((key, _)) = below.get_key_value(*removed) {
                        let message = format!("`{removed}` is no longer a key of `{name}`");
                        return Err(Problem::new(key.span(), message).with_hint(*hint));
                    }
                }
                let keys: Vec<_> = kind.limits(name).map(|limit| limit.name).collect();
                table::expect_keys(&below, &keys)?;
            }
        }
        Ok(())
    }

    fn take_keys(
        &mut self,
        from: &mut DeTable<'_>,
        limits: impl Iterator<Item = &'static Limit>,
        source: &Source,
    ) -> Result<(), Problem> {
        for limit in limits {
            if let Some(value) = from.remove(limit.name) {
                self.0.push((limit, amount(limit, &value, source)?));
            }
        }
        Ok(())
    }

    /// Sets these limits in options that have them.
    pub(crate) fn apply<T: Limits>(&self, options: &mut T) {
        for (limit, amount) in self.0.iter().filter(|(limit, _)| T::TABLE.contains(limit)) {
            options
                .set(limit.name, *amount)
                .expect("the amount was checked when it was read");
        }
    }
}

fn amount(limit: &Limit, value: &Spanned<DeValue<'_>>, source: &Source) -> Result<Amount, Problem> {
    let whole = |number: &toml::de::DeInteger<'_>| u64::from_str_radix(number.as_str(), number.radix()).ok();
    let amount = match (limit.min, value.get_ref()) {
        (Amount::Bytes(_), DeValue::Integer(bytes)) => whole(bytes).map(Amount::Bytes),
        (Amount::Bytes(_), DeValue::String(size)) => {
            // The parser ends at the largest number, whatever is written.
            let size = size.parse::<ByteSize>().ok().map(|size| size.as_u64());
            size.filter(|size| *size < u64::MAX).map(Amount::Bytes)
        }
        (Amount::Count(_), DeValue::Integer(count)) => whole(count).map(Amount::Count),
        (Amount::Time(_), DeValue::String(time)) => humantime::parse_duration(time).ok().map(Amount::Time),
        _ => None,
    };
    amount.filter(|amount| limit.check(*amount).is_ok()).ok_or_else(|| {
        let written = source.written(&value.span());
        Problem::new(value.span(), limit.invalid(written).to_string())
    })
}
