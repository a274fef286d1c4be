//! From the JSON of a program to TOML, which the code of the file reads.

use serde_json::Value as Json;
use toml::{Table, Value};

use super::problem::Problem;

/// The key that stands around the settings, so that they are one inline table: each value then stands within its table.
pub(super) const ROOT: &str = "settings";

/// The text of the settings in TOML. Entries that are `null` are left out.
pub(super) fn to_toml(settings: &str) -> Result<String, Problem> {
    let settings = serde_json::from_str(settings).map_err(|error| Problem::of_all(format!("invalid JSON: {error}")))?;
    let Json::Object(entries) = settings else {
        return Err(Problem::of_all(format!("not a JSON object: {}", kind(&settings))));
    };
    Ok(format!("{ROOT} = {}", Value::Table(table(entries)?)))
}

fn table(entries: serde_json::Map<String, Json>) -> Result<Table, Problem> {
    let entries = entries.into_iter().filter(|(_, entry)| !entry.is_null());
    let entry = |(key, entry): (String, Json)| {
        let value = value(&key, entry)?;
        Ok((key, value))
    };
    entries.map(entry).collect()
}

/// The value of `key`, or a part of it.
fn value(key: &str, json: Json) -> Result<Value, Problem> {
    Ok(match json {
        Json::Null => return Err(Problem::of_all(format!("the list `{key}` contains `null`"))),
        Json::Bool(truth) => Value::Boolean(truth),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Value::Integer(number),
            // No key takes a number beyond those of TOML.
            (None, number) => Value::Float(number.unwrap_or(f64::INFINITY)),
        },
        Json::String(text) => Value::String(text),
        Json::Array(values) => Value::Array(
            values
                .into_iter()
                .map(|json| value(key, json))
                .collect::<Result<_, _>>()?,
        ),
        Json::Object(entries) => Value::Table(table(entries)?),
    })
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "`null`",
        Json::Bool(_) => "a truth value",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}
