//! A statement that was checked at start, and its run.

use std::collections::BTreeSet;

use rusqlite::types::Value as SqlValue;
use rusqlite::{CachedStatement, Connection};
use serde_json::{Map, Value};

use super::failure::{self, Reason};
use super::value::{self, Column};
use crate::config::{SqliteStatement, StatementKind};
use crate::drivers::{Code, Failure};

/// A statement that the database has accepted.
#[derive(Debug)]
pub(super) struct Prepared {
    kind: StatementKind,
    sql: String,
    /// The parameters' names, without their sign, in the order of their numbers.
    parameters: Vec<String>,
    only_reads: bool,
}

/// Why a statement is refused at start.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) reason: Reason,
    pub(super) hint: Option<&'static str>,
}

impl Refusal {
    fn new(reason: impl Into<String>, hint: &'static str) -> Self {
        Self {
            reason: Reason(reason.into()),
            hint: Some(hint),
        }
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::MultipleStatement => Self::new(
                "it is several statements",
                "an event runs one statement; a trigger can do what belongs to it",
            ),
            error => Self {
                reason: failure::reason(error),
                hint: None,
            },
        }
    }
}

impl Prepared {
    /// Checks a statement against the database.
    pub(super) fn new(connection: &Connection, statement: &SqliteStatement) -> Result<Self, Refusal> {
        let prepared = connection.prepare(&statement.sql)?;
        if prepared.column_count() == 0 && statement.kind != StatementKind::Execute {
            return Err(Refusal::new(
                "it returns no rows",
                "use `execute`, or add `RETURNING` and the columns",
            ));
        }
        if prepared.readonly() && statement.kind == StatementKind::Execute {
            return Err(Refusal::new("it changes nothing", "use `query` or `query-one`"));
        }
        let mut fields = BTreeSet::new();
        for name in prepared.column_names() {
            let field = Column::parse(name).field.to_owned();
            if fields.contains(&field) {
                return Err(Refusal::new(
                    format!("it returns two columns `{field}`"),
                    "give one of them another name with `AS`",
                ));
            }
            fields.insert(field);
        }
        let mut parameters = Vec::with_capacity(prepared.parameter_count());
        for number in 1..=prepared.parameter_count() {
            match prepared.parameter_name(number).filter(|name| !name.starts_with('?')) {
                Some(name) => parameters.push(name[1..].to_owned()),
                None => {
                    return Err(Refusal::new(
                        format!("parameter {number} has no name"),
                        "write `:name`; it takes the payload's field of that name",
                    ));
                }
            }
        }
        Ok(Self {
            kind: statement.kind,
            sql: statement.sql.clone(),
            parameters,
            only_reads: prepared.readonly(),
        })
    }

    /// Whether a connection that only reads can run it.
    pub(super) fn only_reads(&self) -> bool {
        self.only_reads
    }

    /// Leaves the statement prepared in the connection.
    pub(super) fn warm(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.prepare_cached(&self.sql).map(drop)
    }

    /// The values for the parameters, out of a payload.
    pub(super) fn parameters(&self, payload: &Value) -> Result<Vec<SqlValue>, Failure> {
        let bad = |message| Failure::new(Code::BadPayload, message);
        let none = Map::new();
        let fields = match (payload, self.parameters.as_slice()) {
            (Value::Object(fields), _) => fields,
            (_, []) => &none,
            (Value::Null, _) | (_, [_, _, ..]) => {
                let given = value::kind(payload);
                return Err(bad(format!(
                    "the payload is {given}; expected an object with {}",
                    self.expected()
                )));
            }
            (only, [_]) => {
                return Ok(vec![
                    value::to_sql(only).map_err(|reason| bad(format!("the payload {reason}")))?,
                ]);
            }
        };
        let field = |name: &String| match fields.get(name) {
            Some(field) => value::to_sql(field).map_err(|reason| bad(format!("the payload's field `{name}` {reason}"))),
            None => Err(bad(format!(
                "the payload has no field `{name}`; expected {}",
                self.expected()
            ))),
        };
        self.parameters.iter().map(field).collect()
    }

    fn expected(&self) -> String {
        crate::suggest::list(self.parameters.iter().map(String::as_str))
    }

    /// Runs it.
    pub(super) fn run(&self, connection: &Connection, parameters: &[SqlValue]) -> Result<Value, Failure> {
        let mut statement = connection.prepare_cached(&self.sql).map_err(failure::from_sqlite)?;
        for (index, value) in parameters.iter().enumerate() {
            statement
                .raw_bind_parameter(index + 1, value)
                .map_err(failure::from_sqlite)?;
        }
        match self.kind {
            StatementKind::Rows => rows(&mut statement).map(Value::Array),
            StatementKind::Execute if statement.column_count() == 0 => {
                let changed = statement.raw_execute().map_err(failure::from_sqlite)?;
                Ok(Value::from(changed))
            }
            StatementKind::Row if self.only_reads => first_row(&mut statement),
            // A change is done in full whatever is read of its rows, but it is only committed after the last one.
            StatementKind::Row | StatementKind::Execute => {
                Ok(rows(&mut statement)?.into_iter().next().unwrap_or(Value::Null))
            }
        }
    }
}

fn rows(statement: &mut CachedStatement<'_>) -> Result<Vec<Value>, Failure> {
    let columns = columns(statement);
    let mut found = statement.raw_query();
    let mut rows = Vec::new();
    while let Some(row) = found.next().map_err(failure::from_sqlite)? {
        rows.push(value::object(row, &columns)?);
    }
    Ok(rows)
}

fn first_row(statement: &mut CachedStatement<'_>) -> Result<Value, Failure> {
    let columns = columns(statement);
    let mut found = statement.raw_query();
    match found.next().map_err(failure::from_sqlite)? {
        Some(row) => value::object(row, &columns),
        None => Ok(Value::Null),
    }
}

/// Read at each run, since SQLite prepares a statement anew when another process changes the schema.
fn columns(statement: &CachedStatement<'_>) -> Vec<(String, value::Meaning)> {
    statement
        .column_names()
        .map(|name| {
            let column = Column::parse(name);
            (column.field.to_owned(), column.meaning)
        })
        .collect()
}
