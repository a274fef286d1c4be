//! A native channel of Pointwork whose events run statements on an SQLite database.
//!
//! ```
//! use pointwork::{App, Payload};
//! use pointwork_sqlite::{Sqlite, SqliteOptions};
//! use serde_json::{Value, json};
//! use tokio::runtime::Handle;
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let (database, schema) = (folder.path().join("shop.sqlite"), folder.path().join("schema.sql"));
//! std::fs::write(&schema, "CREATE TABLE IF NOT EXISTS products (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")?;
//! let sqlite = Sqlite::open(
//!     SqliteOptions::new(database)
//!         .schema(schema)
//!         .execute("add", "INSERT INTO products (name) VALUES (:name) RETURNING id")
//!         .query("all", "SELECT id, name FROM products ORDER BY id"),
//! )?;
//!
//! let app = App::new()?;
//! let channel = app.channel("db");
//! for (event, listener) in sqlite.listeners(&Handle::current()) {
//!     channel.on_raw(event, listener)?;
//! }
//!
//! let tea = Payload::json(&json!({"name": "tea"}))?;
//! app.caller().call_raw("db:add", tea).await?;
//! let all: Value = app.caller().call_raw("db:all", Payload::null()).await?.to()?;
//! assert_eq!(all, json!([{"id": 1, "name": "tea"}]));
//! # Ok(())
//! # }
//! ```
//!
//! # Payloads
//!
//! The parameters of a statement are written `:name`. The payload of an event is a JSON object; each parameter takes the
//! field of its name. A missing field is the failure `bad-payload`, a null field is NULL, further fields are ignored. A
//! payload of another type than object is the value of the only parameter. A null payload fits statements without
//! parameters.
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
//! A row is an object with a field for each column of the result:
//!
//! | SQLite | JSON |
//! |---|---|
//! | NULL | null |
//! | INTEGER | integer |
//! | REAL | number; infinity is the failure `failed` |
//! | TEXT | string; text that is not UTF-8 is the failure `failed` |
//! | BLOB | string, the bytes in base64 |
//!
//! SQLite has no types for booleans and JSON, so the name of a column declares them: `active AS "active:bool"` is true or
//! false in the field `active`, and `json_group_array(tag) AS "tags:json"` is an array in the field `tags`.
//!
//! # Failures
//!
//! | code | status | when |
//! |---|---|---|
//! | `bad-payload` | 400 | a field is missing, or a value breaks a rule of the database for values |
//! | `conflict` | 409 | a key exists already, a reference leads nowhere, or a trigger raises an error |
//! | `overloaded` | 503 | no connection was free, or another process held the lock, for 5 s |
//! | `deadline` | 504 | the deadline of the call passed |
//! | `failed` | 500 | any other error of SQLite |
//!
//! The message names the fields of the caller. The message of SQLite, which names tables, goes to the log.
//!
//! # Connections
//!
//! One connection writes, four read beside it (write-ahead log). Foreign keys are enforced. Each event is a transaction of
//! its own.

#![forbid(unsafe_code)]

mod error;
mod failure;
mod options;
mod pool;
mod statement;
mod value;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pointwork_core::http::StatusCode;
use pointwork_core::{Clock, Delivery, Failure, FailureCode, JSON, Listener, Payload, read_text};
use rusqlite::Connection;
use rusqlite::limits::Limit;
use serde_json::Value;
use tokio::runtime::Handle;

pub use self::error::{Error, ErrorKind};
use self::failure::EventError;
pub use self::options::SqliteOptions;
use self::pool::Pool;
use self::statement::Statement;

/// The longest wait for a connection, or for another process that holds the lock of the database.
const PATIENCE: Duration = Duration::from_secs(5);

/// The size of the largest schema.
const MAX_SCHEMA: u64 = 64 * 1024 * 1024;

/// The longest value or row in bytes: a value such as `hex(zeroblob(:n))` could have 1 GB before its result is refused.
const MAX_VALUE: i32 = 64 * 1024 * 1024;

/// The number of connections that read.
const READERS: usize = 4;

/// An open database with its statements. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Sqlite {
    connections: Arc<Connections>,
    statements: BTreeMap<String, Arc<Statement>>,
}

#[derive(Debug)]
struct Connections {
    writer: Pool,
    readers: Pool,
}

impl Sqlite {
    /// Opens the database, creates it and its folder if they do not exist, runs the schema and prepares the statements.
    /// It blocks.
    ///
    /// # Errors
    /// The [`ErrorKind`] tells which of these steps failed.
    pub fn open(options: SqliteOptions) -> Result<Self, Error> {
        let path = &options.path;
        let failed = |error| {
            let message = format!("cannot open the database `{}`", path.display());
            Error::new(ErrorKind::Database, message).with_source(error)
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).map_err(|error| {
                let message = format!("cannot create the folder `{}` of the database", folder.display());
                Error::new(ErrorKind::Database, message).with_source(error)
            })?;
        }
        let mut writer = connect(&options).map_err(failed)?;
        writer.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
        if let Some(schema) = &options.schema {
            run_schema(&mut writer, schema)?;
        }
        let mut statements = BTreeMap::new();
        for (event, (kind, sql)) in &options.statements {
            let statement = Statement::new(&writer, event, *kind, sql)?;
            statements.insert(event.clone(), Arc::new(statement));
        }
        let reader = || {
            let reader = connect(&options)?;
            reader.pragma_update(None, "query_only", true)?;
            for statement in statements.values().filter(|statement| statement.only_reads()) {
                statement.prepare(&reader)?;
            }
            Ok(reader)
        };
        let readers: Result<_, _> = std::iter::repeat_with(reader).take(READERS).collect();
        let connections = Connections {
            writer: Pool::new(vec![writer]),
            readers: Pool::new(readers.map_err(failed)?),
        };
        Ok(Self {
            connections: Arc::new(connections),
            statements,
        })
    }

    /// The events, in the order of the alphabet.
    pub fn events(&self) -> impl Iterator<Item = &str> {
        self.statements.keys().map(String::as_str)
    }

    /// A listener for each event. The statements run on the blocking threads of the runtime.
    ///
    /// # Cancel safety
    /// The statement of a cancelled event ends if it only reads, or has not begun. One that changes rows goes on until its deadline;
    /// its result is lost.
    pub fn listeners(&self, runtime: &Handle) -> impl Iterator<Item = (&str, impl Listener + use<>)> {
        self.statements.iter().map(|(event, statement)| {
            let listener = listener(self.connections.clone(), statement.clone(), runtime.clone());
            (event.as_str(), listener)
        })
    }
}

/// How long a statement may take, and how much it may return.
struct Run {
    clock: Clock,
    deadline: Option<Instant>,
    /// The longest result, in bytes.
    most: usize,
    is_cancelled: Arc<AtomicBool>,
}

/// Tells the thread that runs a statement when the future of the listener is dropped before the statement has ended.
struct CancelOnDrop {
    connections: Arc<Connections>,
    is_cancelled: Arc<AtomicBool>,
    has_ended: bool,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        self.is_cancelled.store(true, Ordering::Relaxed);
        self.connections.readers.wake();
        self.connections.writer.wake();
    }
}

fn listener(connections: Arc<Connections>, statement: Arc<Statement>, runtime: Handle) -> impl Listener {
    move |delivery: Delivery, payload: Payload| {
        let (connections, statement, runtime) = (connections.clone(), statement.clone(), runtime.clone());
        async move {
            let payload: Value = payload.to()?;
            let caller = delivery.caller();
            let run = Run {
                clock: caller.clock(),
                deadline: caller.deadline(),
                most: caller.payload_limit(),
                is_cancelled: Arc::default(),
            };
            let mut cancel = CancelOnDrop {
                connections: connections.clone(),
                is_cancelled: run.is_cancelled.clone(),
                has_ended: false,
            };
            let result = runtime
                .spawn_blocking(move || connections.run(&statement, &payload, &run))
                .await;
            cancel.has_ended = true;
            match result {
                Ok(Ok(result)) => Ok(Payload::new(JSON, result)),
                Ok(Err(error)) => {
                    log(&delivery, &error);
                    Err(error.failure)
                }
                Err(panic) => {
                    tracing::error!(event = delivery.event(), "the driver of the database panicked: {panic}");
                    Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, failure::FAILED))
                }
            }
        }
    }
}

impl Connections {
    /// Runs a statement with the fields of `payload`, and ends it at the deadline. It blocks.
    fn run(&self, statement: &Statement, payload: &Value, run: &Run) -> Result<Vec<u8>, EventError> {
        let parameters = statement.parameters(payload)?;
        let pool = if statement.only_reads() {
            &self.readers
        } else {
            &self.writer
        };
        pool.with(run, statement.only_reads(), |connection| {
            statement.run(connection, &parameters, run.most)
        })
    }
}

/// Logs the message for the caller with the message of SQLite.
fn log(delivery: &Delivery, error: &EventError) {
    let cause = error.source.as_ref().map(tracing::field::display);
    let (event, request_id) = (delivery.event(), delivery.request_id().map(tracing::field::display));
    if *error.failure.code() == FailureCode::FAILED {
        tracing::error!(event, request_id, cause, "{error}");
    } else {
        tracing::debug!(event, request_id, cause, "{error}");
    }
}

fn connect(options: &SqliteOptions) -> rusqlite::Result<Connection> {
    let connection = Connection::open(&options.path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MAX_VALUE)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // With the write-ahead log this loses no consistency, at most the last transactions of a machine that lost power.
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.set_prepared_statement_cache_capacity(options.statements.len());
    Ok(connection)
}

/// Runs the statements of a schema file, all or none.
fn run_schema(connection: &mut Connection, file: &Path) -> Result<(), Error> {
    let failed = |message: String| Error::new(ErrorKind::Schema, message);
    let text = read_text(file, MAX_SCHEMA)
        .map_err(|error| failed(format!("cannot read the schema `{}`", file.display())).with_source(error))?;
    let run = |connection: &mut Connection| {
        let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
        transaction.execute_batch(&text)?;
        transaction.commit()
    };
    run(connection).map_err(|error| {
        let line = failure::line_of(&error, &text).map_or_else(String::new, |line| format!(":{line}"));
        failed(format!("the schema `{}{line}` fails", file.display()))
            .with_source(failure::reason(&error))
            .with_hint("the schema runs at every start, in a transaction: write `CREATE TABLE IF NOT EXISTS …`")
    })
}

#[cfg(test)]
mod tests;
