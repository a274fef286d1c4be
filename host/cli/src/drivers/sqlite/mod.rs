//! The driver `sqlite`: events run statements on an embedded database.
//!
//! # Payloads
//!
//! A statement's parameters are `:name`. The payload of an event is a JSON object, and each parameter takes the field of
//! its name. A field that is missing is the failure `bad-payload`; one that is null is NULL. Fields that no parameter
//! asks for are ignored. A payload that is no object is the value of a statement's only parameter; null is no payload at
//! all, which does for statements without parameters. JSON becomes SQLite like this:
//!
//! | JSON | SQLite |
//! |---|---|
//! | null | NULL |
//! | true, false | INTEGER 1, 0 |
//! | integer | INTEGER; beyond 64 bits signed it is `bad-payload` |
//! | other number | REAL |
//! | string | TEXT |
//! | array, object | TEXT, its JSON: `json_each(:ids)` takes it apart |
//!
//! # Results
//!
//! A row is an object with a field for each column of the result, named like the column:
//!
//! | SQLite | JSON |
//! |---|---|
//! | NULL | null |
//! | INTEGER | integer |
//! | REAL | number; infinity is the failure `failed` |
//! | TEXT | string; text that is not UTF-8 is the failure `failed` |
//! | BLOB | string, the bytes in base64 |
//!
//! SQLite has neither booleans nor JSON among its types, so the statement says which columns are meant that way, in the
//! column's name: `active AS "active:bool"` is true or false in the field `active`, and
//! `json_group_array(tag) AS "tags:json"` is an array in the field `tags`.
//!
//! # Connections
//!
//! One connection writes, a few read beside it (write-ahead log). Foreign keys are enforced. Each event is a transaction
//! of its own.

mod failure;
mod pool;
mod prepared;
mod value;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;

use self::pool::Pool;
use self::prepared::Prepared;
use super::{Code, Failure};
use crate::config::SqliteChannel;
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::suggest;

/// How long an event waits for a connection, or for another process that holds the database's lock.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connections that read. More would wait for the same disk.
const READERS: usize = 4;

/// A channel's database, with its statements prepared. Every function blocks.
#[derive(Debug)]
pub(crate) struct Sqlite {
    writer: Pool,
    readers: Pool,
    statements: BTreeMap<String, Prepared>,
}

impl Sqlite {
    /// Opens the database of the channel `name`, creates it if it is not there, runs its schema and prepares the
    /// statements, so that a wrong one is found before the first request. `file` is the configuration, for errors.
    ///
    /// # Errors
    ///
    /// The database cannot be opened; the schema cannot be read or run; a statement is wrong. All are exit code 3 and
    /// name file and place.
    pub(crate) fn open(name: &str, channel: &SqliteChannel, file: &Path) -> Result<Self> {
        let cannot_open = |error: rusqlite::Error| {
            Error::new(
                Exit::Config,
                format!(
                    "cannot open the database `{}` of channel `{name}`",
                    channel.path.display()
                ),
            )
            .with_source(error)
        };
        if let Some(folder) = channel.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| {
                Error::new(
                    Exit::Config,
                    format!("cannot create the folder `{}` for channel `{name}`", folder.display()),
                )
                .with_source(error)
            })?;
        }
        let statements = channel.on.len();
        let mut writer = connect(&channel.path, statements).map_err(cannot_open)?;
        writer.pragma_update(None, "journal_mode", "wal").map_err(cannot_open)?;
        if let Some(schema) = &channel.schema {
            run_schema(&mut writer, schema)?;
        }
        let mut prepared = BTreeMap::new();
        for (event, statement) in &channel.on {
            let statement = Prepared::new(&writer, statement).map_err(|refusal| {
                let place = format!("{}:{}", file.display(), statement.position);
                let error = Error::new(
                    Exit::Config,
                    format!("event `{event}` of channel `{name}` in {place} has a wrong statement"),
                )
                .with_source(refusal.reason);
                match refusal.hint {
                    Some(hint) => error.with_hint(hint),
                    None => error,
                }
            })?;
            prepared.insert(event.clone(), statement);
        }
        let mut readers = Vec::with_capacity(READERS);
        for _ in 0..READERS {
            let reader = connect(&channel.path, statements).map_err(cannot_open)?;
            reader.pragma_update(None, "query_only", true).map_err(cannot_open)?;
            for statement in prepared.values().filter(|statement| statement.only_reads()) {
                statement.warm(&reader).map_err(cannot_open)?;
            }
            readers.push(reader);
        }
        Ok(Self {
            writer: Pool::new(vec![writer]),
            readers: Pool::new(readers),
            statements: prepared,
        })
    }

    /// The events that have a statement, in the order of the alphabet.
    pub(crate) fn events(&self) -> impl Iterator<Item = &str> {
        self.statements.keys().map(String::as_str)
    }

    /// Runs the statement of `event` with the fields of `payload`, and ends it at `deadline`. It blocks for as long as
    /// the database takes.
    ///
    /// # Errors
    ///
    /// [`Code`] says which: the event has no statement, the payload does not fit it, the change contradicts what is
    /// stored, the time is over, the database is busy, or SQLite fails.
    pub(crate) fn run(&self, event: &str, payload: &Value, deadline: Option<Instant>) -> Result<Value, Failure> {
        let Some(statement) = self.statements.get(event) else {
            let message = match suggest::nearest(event, self.events()) {
                Some(near) => format!("no statement for event `{event}`; did you mean `{near}`?"),
                None => format!("no statement for event `{event}`"),
            };
            return Err(Failure::new(Code::UnknownEvent, message));
        };
        let parameters = statement.parameters(payload)?;
        let pool = if statement.only_reads() {
            &self.readers
        } else {
            &self.writer
        };
        pool.with(deadline, |connection| statement.run(connection, &parameters))
    }
}

fn connect(path: &Path, statements: usize) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // With the write-ahead log this loses no consistency, at most the last transactions of a machine that lost power.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.set_prepared_statement_cache_capacity(statements);
    Ok(connection)
}

/// Runs the statements of a schema file, all or none.
fn run_schema(connection: &mut Connection, file: &Path) -> Result<()> {
    let text = std::fs::read_to_string(file).map_err(|error| {
        Error::new(Exit::Config, format!("cannot read the schema `{}`", file.display())).with_source(error)
    })?;
    let run = |connection: &mut Connection| {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        transaction.execute_batch(&text)?;
        transaction.commit()
    };
    run(connection).map_err(|error| {
        let place = match failure::place_in(&error, &text) {
            Some(line) => format!("{}:{line}", file.display()),
            None => file.display().to_string(),
        };
        Error::new(Exit::Config, format!("the schema `{place}` does not run"))
            .with_source(failure::reason(error))
            .with_hint("it runs at every start, in a transaction: write `CREATE TABLE IF NOT EXISTS …`")
    })
}

#[cfg(test)]
mod tests;
