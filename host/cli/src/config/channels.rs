//! The tables below `[channels]`: each is read by the rules of its driver.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;
use toml::de::{DeValue, ValueDeserializer};

use super::problem::{Position, Problem};

/// Where a channel's events go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Driver {
    /// Statements on an SQLite database.
    Sqlite(SqliteChannel),
    /// Replies to the request whose context was handed over.
    Response(ResponseChannel),
}

/// A channel of the driver `sqlite`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SqliteChannel {
    /// The database; created on first start.
    pub(crate) path: PathBuf,
    /// Statements that are run at every start, so that they have to be idempotent (`CREATE TABLE IF NOT EXISTS …`).
    pub(crate) schema: Option<PathBuf>,
    /// What each event runs.
    pub(crate) on: BTreeMap<String, SqliteStatement>,
}

/// What an event runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SqliteStatement {
    /// What its result is.
    pub(crate) kind: StatementKind,
    /// One statement; parameters are `:name`, filled from the payload's fields.
    pub(crate) sql: String,
    /// Where it stands in the file.
    pub(crate) position: Position,
}

/// What the result of a statement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementKind {
    /// `query`: the list of all rows, each an object.
    Rows,
    /// `query-one`: the first row as an object, or null.
    Row,
    /// `execute`: the number of rows changed; with `RETURNING`, the first row as an object, or null.
    Execute,
}

/// A channel of the driver `response`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResponseChannel {
    /// The status of the reply by event. Without any in the file it is `send`, 200 (spec H6).
    pub(crate) on: BTreeMap<String, u16>,
}

/// The drivers' names as they are written.
const DRIVERS: &[&str] = &["response", "sqlite"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawSqlite {
    #[serde(rename = "driver")]
    _driver: IgnoredAny,
    path: PathBuf,
    schema: Option<PathBuf>,
    #[serde(default)]
    on: BTreeMap<Spanned<String>, Spanned<RawStatement>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawStatement {
    query: Option<Spanned<String>>,
    query_one: Option<Spanned<String>>,
    execute: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawResponse {
    #[serde(rename = "driver")]
    _driver: IgnoredAny,
    #[serde(default)]
    on: BTreeMap<Spanned<String>, RawReply>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RawReply {
    status: Spanned<u16>,
}

/// Reads the table `[channels]` of a file that stands in `base`.
pub(super) fn read(
    table: Option<&Spanned<DeValue<'_>>>,
    text: &str,
    base: &Path,
) -> Result<BTreeMap<String, Driver>, Problem> {
    let Some(table) = table else {
        return Ok(BTreeMap::new());
    };
    let Some(channels) = table.get_ref().as_table() else {
        return Err(Problem::new(
            table.span(),
            "`channels` is no table; expected tables like `[channels.db]`",
        ));
    };
    let mut read = BTreeMap::new();
    for (key, value) in channels {
        let name = key.get_ref().as_ref();
        if name.is_empty() || name.contains(':') {
            return Err(
                Problem::new(key.span(), format!("`{name}` cannot be the name of a channel"))
                    .with_hint("a name is not empty and has no `:`, which stands between channel and event"),
            );
        }
        let channel = driver(key.span(), name, value, text, base)?;
        read.insert(name.to_owned(), channel);
    }
    Ok(read)
}

fn driver(
    key: std::ops::Range<usize>,
    name: &str,
    value: &Spanned<DeValue<'_>>,
    text: &str,
    base: &Path,
) -> Result<Driver, Problem> {
    let Some(driver) = value.get_ref().get("driver") else {
        return Err(Problem::new(key, format!("channel `{name}` has no `driver`"))
            .with_hint(format!("expected {}", crate::suggest::list_or(DRIVERS.iter().copied()))));
    };
    let table = ValueDeserializer::from(value.clone());
    match driver.get_ref().as_str() {
        Some("sqlite") => sqlite(RawSqlite::deserialize(table)?, text, base).map(Driver::Sqlite),
        Some("response") => response(RawResponse::deserialize(table)?).map(Driver::Response),
        Some(other) => Err(Problem::unknown(driver.span(), "driver", other, DRIVERS)),
        None => Err(Problem::new(driver.span(), "`driver` is no string")),
    }
}

fn sqlite(raw: RawSqlite, text: &str, base: &Path) -> Result<SqliteChannel, Problem> {
    let mut on = BTreeMap::new();
    for (event, statement) in raw.on {
        check_event(&event)?;
        let span = statement.span();
        let RawStatement {
            query,
            query_one,
            execute,
        } = statement.into_inner();
        let given = [
            query.map(|sql| (StatementKind::Rows, sql)),
            query_one.map(|sql| (StatementKind::Row, sql)),
            execute.map(|sql| (StatementKind::Execute, sql)),
        ];
        let mut given = given.into_iter().flatten();
        let (Some((kind, sql)), None) = (given.next(), given.next()) else {
            return Err(
                Problem::new(span, format!("event `{}` does not name one statement", event.get_ref()))
                    .with_hint("expected exactly one of `query`, `query-one` and `execute`"),
            );
        };
        let position = Position::of(text, sql.span().start);
        on.insert(
            event.into_inner(),
            SqliteStatement {
                kind,
                sql: sql.into_inner(),
                position,
            },
        );
    }
    Ok(SqliteChannel {
        path: base.join(raw.path),
        schema: raw.schema.map(|schema| base.join(schema)),
        on,
    })
}

fn response(raw: RawResponse) -> Result<ResponseChannel, Problem> {
    let mut on = BTreeMap::new();
    for (event, reply) in raw.on {
        check_event(&event)?;
        if !(200..=599).contains(reply.status.get_ref()) {
            return Err(Problem::new(
                reply.status.span(),
                format!("`{}` is no status of a reply", reply.status.get_ref()),
            )
            .with_hint("expected 200 to 599"));
        }
        on.insert(event.into_inner(), reply.status.into_inner());
    }
    if on.is_empty() {
        on.insert("send".to_owned(), 200);
    }
    Ok(ResponseChannel { on })
}

fn check_event(event: &Spanned<String>) -> Result<(), Problem> {
    if event.get_ref().is_empty() {
        return Err(Problem::new(event.span(), "an event without a name"));
    }
    Ok(())
}
