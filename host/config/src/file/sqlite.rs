//! Channels of the driver `sqlite`.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use pointwork_sqlite::SqliteOptions;
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;
use toml::de::ValueDeserializer;

use super::channels::check_event;
use super::problem::Problem;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SqliteChannel {
    /// The database and the statement of each event.
    pub(crate) options: SqliteOptions,
    pub(super) schema: Option<PathBuf>,
    /// The place of each event's statement in the file.
    pub(crate) spans: BTreeMap<String, Range<usize>>,
}

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

/// Reads the table of a channel in a file of the folder `base`.
pub(super) fn read(table: ValueDeserializer<'_>, base: &Path) -> Result<SqliteChannel, Problem> {
    let raw = RawSqlite::deserialize(table)?;
    let mut options = SqliteOptions::new(base.join(raw.path));
    let schema = raw.schema.map(|schema| base.join(schema));
    if let Some(schema) = &schema {
        options = options.schema(schema);
    }
    let mut spans = BTreeMap::new();
    for (event, statement) in raw.on {
        check_event(&event)?;
        let span = statement.span();
        let event = event.into_inner();
        let RawStatement {
            query,
            query_one,
            execute,
        } = statement.into_inner();
        let (with_event, sql) = match (query, query_one, execute) {
            (Some(sql), None, None) => (options.query(&event, sql.get_ref()), sql),
            (None, Some(sql), None) => (options.query_one(&event, sql.get_ref()), sql),
            (None, None, Some(sql)) => (options.execute(&event, sql.get_ref()), sql),
            _ => {
                let message = format!("event `{event}` does not name one statement");
                return Err(
                    Problem::new(span, message).with_hint("expected exactly one of `query`, `query-one` and `execute`")
                );
            }
        };
        options = with_event;
        spans.insert(event, sql.span());
    }
    Ok(SqliteChannel { options, schema, spans })
}
