//! From the JSON of a program to the tree of values that TOML is parsed to: one set of types reads both.

use std::borrow::Cow;

use serde_json::Value as Json;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::Problem;
use super::source::{Entry, present};

/// Parses settings, which are an object.
pub(super) fn parse(settings: &str) -> Result<Json, Problem> {
    let settings = serde_json::from_str(settings).map_err(|error| Problem::of_all(format!("invalid JSON: {error}")))?;
    let kind = match settings {
        Json::Object(_) => return Ok(settings),
        Json::Null => "`null`",
        Json::Bool(_) => "a truth value",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
    };
    Err(Problem::of_all(format!("not a JSON object: {kind}")))
}

/// The tree of a value, which is the first of the `entries`; they become those behind it. A key whose value is `null` is left
/// out.
pub(super) fn tree<'a>(
    json: &'a Json,
    entries: &mut impl Iterator<Item = (usize, &'a Entry)>,
) -> Result<Spanned<DeValue<'a>>, Problem> {
    let (number, entry) = entries.next().expect("each value has an entry");
    let value = match json {
        // An object that has a key with `null` has no entry for it: this is an item of a list.
        Json::Null => {
            let list = entry.path.rsplit_once('[').map_or("", |(list, _)| list);
            return Err(Problem::of_all(format!("the list `{list}` contains `null`")));
        }
        Json::Bool(truth) => DeValue::Boolean(*truth),
        // A number of a tree is made by the parser alone. JSON writes no number that TOML does not.
        Json::Number(_) => DeValue::parse(&entry.written)?.into_inner(),
        Json::String(text) => DeValue::String(Cow::Borrowed(text)),
        Json::Array(items) => DeValue::Array(items.iter().map(|item| tree(item, entries)).collect::<Result<_, _>>()?),
        Json::Object(object) => {
            let mut table = DeTable::new();
            for (key, value) in present(object) {
                let value = tree(value, entries)?;
                let start = value.span().start - 1;
                table.insert(Spanned::new(start..start + 1, Cow::Borrowed(key.as_str())), value);
            }
            DeValue::Table(table)
        }
    };
    Ok(Spanned::new(2 * number + 1..2 * number + 2, value))
}
