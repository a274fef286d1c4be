//! Values on their way between JSON and SQLite. The tables in the driver's documentation are the rule.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::Row;
use rusqlite::types::{Value as SqlValue, ValueRef};
use serde_json::{Map, Number, Value};

use super::failure;
use crate::drivers::{Code, Failure};

/// A column of a result: the field it becomes, and what its value means.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Column<'a> {
    pub(super) field: &'a str,
    pub(super) meaning: Meaning,
}

/// What the value of a column means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// What its type says.
    Plain,
    /// A number that is true or false.
    Bool,
    /// Text that is JSON.
    Json,
}

impl<'a> Column<'a> {
    /// Takes a column's name apart.
    pub(super) fn parse(name: &'a str) -> Self {
        match name.rsplit_once(':') {
            Some((field, "bool")) => Self {
                field,
                meaning: Meaning::Bool,
            },
            Some((field, "json")) => Self {
                field,
                meaning: Meaning::Json,
            },
            _ => Self {
                field: name,
                meaning: Meaning::Plain,
            },
        }
    }
}

/// A field of a payload as SQLite takes it.
///
/// # Errors
///
/// Why it does not fit, as the end of a sentence.
pub(super) fn to_sql(value: &Value) -> Result<SqlValue, String> {
    Ok(match value {
        Value::Null => SqlValue::Null,
        Value::Bool(bit) => SqlValue::Integer((*bit).into()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => SqlValue::Integer(integer),
            (None, Some(real)) if !number.is_u64() => SqlValue::Real(real),
            _ => return Err(format!("is {number}; the largest integer that fits is {}", i64::MAX)),
        },
        Value::String(text) => SqlValue::Text(text.clone()),
        Value::Array(_) | Value::Object(_) => SqlValue::Text(value.to_string()),
    })
}

/// A row as an object.
pub(super) fn object(row: &Row<'_>, columns: &[(String, Meaning)]) -> Result<Value, Failure> {
    let mut object = Map::with_capacity(columns.len());
    for (index, (field, meaning)) in columns.iter().enumerate() {
        let value = row.get_ref(index).map_err(failure::from_sqlite)?;
        let value = to_json(value, *meaning)
            .map_err(|reason| Failure::new(Code::Failed, format!("the column `{field}` {reason}")))?;
        object.insert(field.clone(), value);
    }
    Ok(Value::Object(object))
}

fn to_json(value: ValueRef<'_>, meaning: Meaning) -> Result<Value, String> {
    match (value, meaning) {
        (ValueRef::Null, _) => Ok(Value::Null),
        (ValueRef::Integer(integer), Meaning::Bool) => Ok(Value::Bool(integer != 0)),
        (other, Meaning::Bool) => Err(format!("is {}, which is neither true nor false", sql_kind(other))),
        (ValueRef::Text(text), Meaning::Json) => {
            serde_json::from_slice(text).map_err(|error| format!("is no JSON: {error}"))
        }
        (other, Meaning::Json) => Err(format!("is {}, which is no JSON", sql_kind(other))),
        (ValueRef::Integer(integer), Meaning::Plain) => Ok(Value::from(integer)),
        (ValueRef::Real(real), Meaning::Plain) => Number::from_f64(real)
            .map(Value::Number)
            .ok_or_else(|| "is infinite, which JSON cannot say".to_owned()),
        (ValueRef::Text(text), Meaning::Plain) => match std::str::from_utf8(text) {
            Ok(text) => Ok(Value::from(text)),
            Err(error) => Err(format!("is no UTF-8: {error}")),
        },
        (ValueRef::Blob(bytes), Meaning::Plain) => Ok(Value::from(STANDARD.encode(bytes))),
    }
}

fn sql_kind(value: ValueRef<'_>) -> &'static str {
    match value {
        ValueRef::Null => "NULL",
        ValueRef::Integer(_) => "an INTEGER",
        ValueRef::Real(_) => "a REAL",
        ValueRef::Text(_) => "a TEXT",
        ValueRef::Blob(_) => "a BLOB",
    }
}

/// What a JSON value is, with its article.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
