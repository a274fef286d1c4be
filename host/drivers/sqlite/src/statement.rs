//! The statement of an event: checked when the database is opened, then run.

use std::collections::BTreeSet;

use pointwork_core::FailureCode;
use rusqlite::types::Value as SqlValue;
use rusqlite::{CachedStatement, Connection};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::failure::{self, EventError, failure};
use crate::options::StatementKind;
use crate::value::{self, Column};

/// A statement that SQLite has accepted.
#[derive(Debug)]
pub(crate) struct Statement {
    kind: StatementKind,
    sql: String,
    /// The names of the parameters, without their sign, in the order of their numbers.
    parameters: Vec<String>,
    only_reads: bool,
}

impl Statement {
    /// Checks the statement of `event` against the database.
    pub(crate) fn new(connection: &Connection, event: &str, kind: StatementKind, sql: &str) -> Result<Self, Error> {
        let invalid = |reason: &str, hint: &str| Error::of_event(event).with_source(reason).with_hint(hint);
        let prepared = connection.prepare(sql).map_err(|error| match error {
            rusqlite::Error::MultipleStatement => invalid(
                "it is several statements",
                "an event runs one statement; a trigger can run further ones",
            ),
            error => Error::of_event(event).with_source(failure::reason(&error)),
        })?;
        if prepared.column_count() == 0 && kind != StatementKind::Execute {
            return Err(invalid(
                "it returns no rows",
                "use `execute`, or add `RETURNING` and the columns",
            ));
        }
        if prepared.readonly() && kind == StatementKind::Execute {
            return Err(invalid("it changes nothing", "use `query` or `query-one`"));
        }
        let mut fields = BTreeSet::new();
        for name in prepared.column_names() {
            let field = Column::parse(name).field;
            if fields.contains(&field) {
                return Err(invalid(
                    &format!("it returns two columns `{field}`"),
                    "give one of them another name with `AS`",
                ));
            }
            fields.insert(field);
        }
        let parameter = |number| match prepared.parameter_name(number) {
            Some(name) if !name.starts_with('?') => Ok(name[1..].to_owned()),
            _ => Err(invalid(
                &format!("parameter {number} has no name"),
                "write `:name`; it takes the field of that name in the payload",
            )),
        };
        Ok(Self {
            kind,
            sql: sql.to_owned(),
            parameters: (1..=prepared.parameter_count())
                .map(parameter)
                .collect::<Result<_, _>>()?,
            only_reads: prepared.readonly(),
        })
    }

    /// Whether a connection that only reads can run it.
    pub(crate) fn only_reads(&self) -> bool {
        self.only_reads
    }

    /// Prepares the statement in the cache of a connection.
    pub(crate) fn prepare(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.prepare_cached(&self.sql).map(drop)
    }

    /// The values of the parameters from a payload.
    pub(crate) fn parameters(&self, payload: &Value) -> Result<Vec<SqlValue>, EventError> {
        let bad = |message| failure(FailureCode::BAD_PAYLOAD, message);
        let expected = || {
            let names: Vec<_> = self.parameters.iter().map(|name| format!("`{name}`")).collect();
            names.join(", ")
        };
        let none = Map::new();
        let fields = match (payload, self.parameters.as_slice()) {
            (Value::Object(fields), _) => fields,
            (_, []) => &none,
            (Value::Null, _) | (_, [_, _, ..]) => {
                let given = value::kind(payload);
                return Err(bad(format!(
                    "the payload is {given}; expected an object with {}",
                    expected()
                )));
            }
            (only, [_]) => {
                let value = value::to_sql(only).map_err(|reason| bad(format!("the payload {reason}")))?;
                return Ok(vec![value]);
            }
        };
        let field = |name: &String| match fields.get(name) {
            Some(field) => value::to_sql(field).map_err(|reason| bad(format!("the payload's field `{name}` {reason}"))),
            None => Err(bad(format!(
                "the payload has no field `{name}`; expected {}",
                expected()
            ))),
        };
        self.parameters.iter().map(field).collect()
    }

    /// Runs the statement. The result is JSON of at most `most` bytes.
    pub(crate) fn run(
        &self,
        connection: &Connection,
        parameters: &[SqlValue],
        most: usize,
    ) -> Result<Vec<u8>, EventError> {
        let mut statement = connection.prepare_cached(&self.sql)?;
        for (index, value) in parameters.iter().enumerate() {
            statement.raw_bind_parameter(index + 1, value)?;
        }
        let mut result = JsonResult { text: Vec::new(), most };
        if self.kind == StatementKind::Execute && statement.column_count() == 0 {
            result.push(&Value::from(statement.raw_execute()?))?;
        } else if self.only_reads {
            self.read_rows(&mut statement, &mut result)?;
        } else {
            // Without a transaction SQLite keeps the change of a statement that is left after a part of its rows.
            let transaction = connection.unchecked_transaction()?;
            self.read_rows(&mut statement, &mut result)?;
            transaction.commit()?;
        }
        Ok(result.text)
    }

    /// Writes the rows as objects: all rows of a `query` as an array, the first row otherwise.
    fn read_rows(&self, statement: &mut CachedStatement<'_>, result: &mut JsonResult) -> Result<(), EventError> {
        // The columns are those of this run: SQLite prepares a statement again when the schema has changed.
        let columns: Vec<_> = statement.column_names().map(Column::parse).collect();
        let mut found = statement.raw_query();
        let are_all = self.kind == StatementKind::Query;
        let mut count = 0_usize;
        // SQLite commits no change before all of its rows are read.
        while (are_all || count == 0 || !self.only_reads)
            && let Some(row) = found.next()?
        {
            if are_all || count == 0 {
                let before: &[u8] = match (are_all, count) {
                    (false, _) => b"",
                    (true, 0) => b"[",
                    (true, _) => b",",
                };
                result.text.extend_from_slice(before);
                result.push(&value::object(row, &columns)?)?;
            }
            count += 1;
        }
        let end: &[u8] = match (are_all, count) {
            (true, 0) => b"[]",
            (true, _) => b"]",
            (false, 0) => b"null",
            (false, _) => b"",
        };
        result.text.extend_from_slice(end);
        Ok(())
    }
}

/// The JSON of a result. Rows beyond the longest result are not read: a client may choose the number of rows.
struct JsonResult {
    text: Vec<u8>,
    most: usize,
}

impl JsonResult {
    fn push(&mut self, value: &Value) -> Result<(), EventError> {
        let written = serde_json::to_writer(&mut self.text, value);
        // Neither the memory nor the keys of an object refuse it.
        written.map_err(|error| failure(FailureCode::FAILED, error.to_string()))?;
        if self.text.len() > self.most {
            let message = format!("the result has more than {} bytes, the limit `payload`", self.most);
            return Err(failure(FailureCode::TOO_LARGE, message));
        }
        Ok(())
    }
}
