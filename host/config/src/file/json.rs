//! From the JSON of a program to the tree of values that TOML is parsed to: one set of types reads both.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::problem::Problem;

/// A value of the settings. Values are numbered in the order in which they are read, from 0 for the root. A span in the tree is
/// a range of numbers: the span of value `n` starts at `2 * n + 1`, that of its key at `2 * n`, since an error in a key differs
/// from an error in its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The keys and indexes that lead to the value from the root, as in `grant.http[0]`; empty for the root.
    pub(super) path: String,
    /// The value in JSON, without what a list or an object contains.
    pub(super) written: String,
}

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

/// Adds the value at `path` and the values that it contains.
pub(super) fn add(entries: &mut Vec<Entry>, path: String, json: &Json) {
    let written = match json {
        Json::Array(_) => "[]".to_owned(),
        Json::Object(_) => "{}".to_owned(),
        value => value.to_string(),
    };
    let parent = path.clone();
    entries.push(Entry { path, written });
    match json {
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                add(entries, format!("{parent}[{index}]"), item);
            }
        }
        Json::Object(object) => present(object).for_each(|(key, value)| add(entries, below(&parent, key), value)),
        _ => {}
    }
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

fn present(object: &Map<String, Json>) -> impl Iterator<Item = (&String, &Json)> {
    object.iter().filter(|(_, value)| !value.is_null())
}

/// The path of a key. A key that has other characters than most is quoted.
fn below(path: &str, key: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let dot = if path.is_empty() { "" } else { "." };
    if !key.is_empty() && key.bytes().all(is_plain) {
        format!("{path}{dot}{key}")
    } else {
        format!("{path}{dot}{key:?}")
    }
}
