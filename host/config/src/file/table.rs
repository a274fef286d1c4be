//! TOML tables of which one part is read by hand and the rest by serde.

use std::ops::Range;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::problem::Problem;

/// The table that is the value of `key`, and its place in the file.
pub(super) fn of<'a>(key: &str, value: Spanned<DeValue<'a>>) -> Result<(Range<usize>, DeTable<'a>), Problem> {
    let span = value.span();
    match value.into_inner() {
        DeValue::Table(table) => Ok((span, table)),
        _ => Err(Problem::new(span, format!("`{key}` is not a table"))),
    }
}

/// Reads a table by serde. `others` are the keys that were read before: an unknown key may be a misspelt one of them.
pub(super) fn read<T: DeserializeOwned>(span: Range<usize>, table: DeTable<'_>, others: &[&str]) -> Result<T, Problem> {
    let keys: Vec<_> = table.keys().map(Spanned::span).collect();
    let value = Spanned::new(span, DeValue::Table(table));
    T::deserialize(ValueDeserializer::from(value)).map_err(|error| match error.span() {
        Some(span) if keys.contains(&span) => Problem::from_toml(&error, others),
        _ => error.into(),
    })
}

/// Refuses a table that has another key than these.
pub(super) fn expect_keys(table: &DeTable<'_>, keys: &[&str]) -> Result<(), Problem> {
    match table.keys().find(|key| !keys.contains(&key.get_ref().as_ref())) {
        Some(key) => Err(Problem::unknown(key.span(), "key", key.get_ref(), keys)),
        None => Ok(()),
    }
}
