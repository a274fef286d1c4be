//! Conversion between the values of JSON and SQLite, by the tables in the documentation of the crate.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::Row;
use rusqlite::types::{Value as SqlValue, ValueRef};
use serde_json::{Map, Number, Value};

use pointwork_core::FailureCode;

use crate::failure::{EventError, failure};

/// A column of a result: its field, and the meaning of its values.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) field: String,
    meaning: Meaning,
}

#[derive(Debug, Clone, Copy)]
enum Meaning {
    /// That of its type.
    Plain,
    /// A number that is true or false.
    Bool,
    /// Text that is JSON.
    Json,
}

impl Column {
    pub(crate) fn parse(name: &str) -> Self {
        let (field, meaning) = match name.rsplit_once(':') {
            Some((field, "bool")) => (field, Meaning::Bool),
            Some((field, "json")) => (field, Meaning::Json),
            _ => (name, Meaning::Plain),
        };
        Self {
            field: field.to_owned(),
            meaning,
        }
    }
}

/// A field of a payload as SQLite takes it.
///
/// # Errors
/// The reason, as the end of a sentence.
pub(crate) fn to_sql(value: &Value) -> Result<SqlValue, String> {
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

pub(crate) fn object(row: &Row<'_>, columns: &[Column]) -> Result<Value, EventError> {
    let field = |(index, column): (usize, &Column)| {
        let value = to_json(row.get_ref(index)?, column.meaning).map_err(|reason| {
            let message = format!("the column `{}` {reason}", column.field);
            failure(FailureCode::FAILED, message)
        })?;
        Ok((column.field.clone(), value))
    };
    let fields: Result<Map<_, _>, EventError> = columns.iter().enumerate().map(field).collect();
    fields.map(Value::Object)
}

fn to_json(value: ValueRef<'_>, meaning: Meaning) -> Result<Value, String> {
    match (value, meaning) {
        (ValueRef::Null, _) => Ok(Value::Null),
        (ValueRef::Integer(integer), Meaning::Bool) => Ok(Value::Bool(integer != 0)),
        (other, Meaning::Bool) => Err(format!("is {}, which is neither true nor false", sql_kind(other))),
        (ValueRef::Text(text), Meaning::Json) => {
            serde_json::from_slice(text).map_err(|error| format!("is not JSON: {error}"))
        }
        (other, Meaning::Json) => Err(format!("is {}, which is not JSON", sql_kind(other))),
        (ValueRef::Integer(integer), Meaning::Plain) => Ok(Value::from(integer)),
        (ValueRef::Real(real), Meaning::Plain) => Number::from_f64(real)
            .map(Value::Number)
            .ok_or_else(|| "is infinite, which JSON does not have".to_owned()),
        (ValueRef::Text(text), Meaning::Plain) => match std::str::from_utf8(text) {
            Ok(text) => Ok(Value::from(text)),
            Err(error) => Err(format!("is not UTF-8: {error}")),
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

/// The type of a JSON value, with its article.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
