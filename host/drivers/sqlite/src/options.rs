//! The description of a database and its events.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// The database of a channel, and the statement of each event. A second statement for an event replaces the first.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct SqliteOptions {
    pub(crate) path: PathBuf,
    pub(crate) schema: Option<PathBuf>,
    pub(crate) statements: BTreeMap<String, (StatementKind, String)>,
}

/// The result of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatementKind {
    Query,
    QueryOne,
    Execute,
}

impl SqliteOptions {
    /// The database at `path`, which is created if it does not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            schema: None,
            statements: BTreeMap::new(),
        }
    }

    /// A file of statements that run at every start, all or none. They have to be idempotent: `CREATE TABLE IF NOT
    /// EXISTS …`.
    pub fn schema(mut self, file: impl Into<PathBuf>) -> Self {
        self.schema = Some(file.into());
        self
    }

    /// An event that returns all rows, as a list of objects.
    pub fn query(self, event: impl Into<String>, sql: impl Into<String>) -> Self {
        self.statement(event, StatementKind::Query, sql)
    }

    /// An event that returns the first row as an object, or null.
    pub fn query_one(self, event: impl Into<String>, sql: impl Into<String>) -> Self {
        self.statement(event, StatementKind::QueryOne, sql)
    }

    /// An event that changes rows and returns their number; with `RETURNING` it returns the first row as an object, or
    /// null.
    pub fn execute(self, event: impl Into<String>, sql: impl Into<String>) -> Self {
        self.statement(event, StatementKind::Execute, sql)
    }

    fn statement(mut self, event: impl Into<String>, kind: StatementKind, sql: impl Into<String>) -> Self {
        self.statements.insert(event.into(), (kind, sql.into()));
        self
    }
}
