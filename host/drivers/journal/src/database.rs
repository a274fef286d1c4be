//! The file of a journal and its statements.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use pointwork_core::{Clock, DeadLetter, Error, ErrorKind, Payload, RecordedEvent, Settled, StoreError};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::journal::JournalOptions;
use crate::schema::{APPLICATION, GIVEN_OUT, SCHEMA, VERSION};

/// The longest wait for another process that has the file.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most bytes of the reason of a dead letter.
const MAX_REASON: usize = 4 * 1024;

/// The ids that are forgotten at a time.
const FORGOTTEN: u32 = 1_000;

/// The columns of an event, as [`event`] reads them.
const EVENT: &str =
    "id, channel, event, content_type, payload, depth, request_id, partition, attempt, seq, traceparent";

pub(crate) struct Database {
    connection: Connection,
    /// Milliseconds of the time at the start, and the start. The clock of the machine may be set back, this one is not.
    started: (i64, Instant),
    clock: Clock,
    is_full_sync: bool,
    /// The pages that events may fill, and the bytes of a page.
    limit: (u64, u64),
}

/// An event that waits, at the head of its channel or partition.
pub(crate) struct Head {
    pub(crate) seq: i64,
    pub(crate) due: i64,
}

impl Database {
    pub(crate) fn open(options: &JournalOptions) -> Result<Self, Error> {
        let path = &options.path;
        let failed = |cause: Box<dyn std::error::Error + Send + Sync>| {
            let message = format!("cannot open the journal `{}`", path.display());
            Error::new(ErrorKind::Durable, message).with_source(cause)
        };
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(|error| failed(error.into()))?;
        }
        create(path).map_err(|error| failed(error.into()))?;
        let connection = connect(options).map_err(|error| match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseBusy) => {
                let message = format!("another process has the journal `{}`", path.display());
                Error::new(ErrorKind::Durable, message).with_hint("give each process a file of its own")
            }
            _ => failed(error.into()),
        })?;
        if let Some(other) = other_file(&connection).map_err(|error| failed(error.into()))? {
            let message = format!("`{}` is no journal of this version: {other}", path.display());
            return Err(Error::new(ErrorKind::Durable, message).with_hint("name a file that does not exist yet"));
        }
        let page: u32 = connection
            .pragma_query_value(None, "page_size", |row| row.get(0))
            .map_err(|error| failed(error.into()))?;
        let page = u64::from(page.max(1));
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            connection,
            started: (millis(since), options.clock.now()),
            clock: options.clock.clone(),
            is_full_sync: true,
            limit: (options.max_size / page, page),
        })
    }

    /// Milliseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        let (at_start, start) = self.started;
        at_start.saturating_add(millis(self.clock.now() - start))
    }

    /// Begins a transaction, which waits for the disk at its end if `is_synced`.
    pub(crate) fn begin(&mut self, is_synced: bool) -> rusqlite::Result<()> {
        if self.is_full_sync != is_synced {
            let mode = if is_synced { "full" } else { "normal" };
            self.connection.pragma_update(None, "synchronous", mode)?;
            self.is_full_sync = is_synced;
        }
        self.run("BEGIN IMMEDIATE", [])
    }

    pub(crate) fn commit(&self) -> rusqlite::Result<()> {
        self.run("COMMIT", [])
    }

    /// Ends the transaction without its changes. SQLite may have done so itself.
    pub(crate) fn roll_back(&self) {
        if self.is_in_transaction() {
            let _ = self.run("ROLLBACK", []);
        }
    }

    pub(crate) fn is_in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    fn run(&self, sql: &str, values: impl rusqlite::Params) -> rusqlite::Result<()> {
        self.changed(sql, values).map(drop)
    }

    fn changed(&self, sql: &str, values: impl rusqlite::Params) -> rusqlite::Result<usize> {
        self.connection.prepare_cached(sql)?.execute(values)
    }

    fn one<T>(
        &self,
        sql: &str,
        values: impl rusqlite::Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        self.connection.prepare_cached(sql)?.query_row(values, read).optional()
    }

    /// Keeps an event, unless its id is known. Returns whether it is new. If it fails, it changes nothing.
    pub(crate) fn record(&self, event: &RecordedEvent, known_for: Duration) -> rusqlite::Result<bool> {
        self.run("SAVEPOINT record", [])?;
        let recorded = self.insert(event, known_for);
        if recorded.is_err() && self.is_in_transaction() {
            self.run("ROLLBACK TO record", [])?;
        }
        if self.is_in_transaction() {
            self.run("RELEASE record", [])?;
        }
        recorded
    }

    fn insert(&self, event: &RecordedEvent, known_for: Duration) -> rusqlite::Result<bool> {
        self.expect_room(event.payload.data().len())?;
        let now = self.now();
        let known = "INSERT INTO known (id, until) VALUES (?1, ?2) \
                     ON CONFLICT (id) DO UPDATE SET until = ?2 WHERE until <= ?3";
        if self.changed(known, params![event.id, now.saturating_add(millis(known_for)), now])? == 0 {
            return Ok(false);
        }
        self.run(
            "INSERT INTO events (channel, partition, id, event, content_type, payload, depth, request_id, \
             traceparent, emitted) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            params![
                &*event.channel,
                event.partition,
                event.id,
                event.event,
                event.payload.content_type(),
                event.payload.data(),
                event.depth,
                event.request_id,
                event.traceparent,
                now
            ],
        )?;
        Ok(true)
    }

    /// SQLite's own limit would also refuse what makes room: the ends of events, and the notes of their attempts.
    fn expect_room(&self, bytes: usize) -> rusqlite::Result<()> {
        let used = "SELECT page_count - freelist_count FROM pragma_page_count, pragma_freelist_count";
        let used: i64 = self.one(used, [], |row| row.get(0))?.unwrap_or_default();
        let (limit, page) = self.limit;
        // The row, its entries in the indexes, and the id that is known.
        let needed = bytes as u64 / page + 4;
        if used.unsigned_abs() + needed > limit {
            let full = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL);
            return Err(rusqlite::Error::SqliteFailure(full, None));
        }
        Ok(())
    }

    /// Forgets ids whose time is over.
    pub(crate) fn forget(&self) -> rusqlite::Result<()> {
        let sql = "DELETE FROM known WHERE id IN (SELECT id FROM known WHERE until <= ? ORDER BY until LIMIT ?)";
        self.run(sql, params![self.now(), FORGOTTEN])
    }

    /// The first event of a partition that waits.
    pub(crate) fn head(&self, channel: &str, partition: u16) -> rusqlite::Result<Option<Head>> {
        let sql =
            "SELECT seq, due FROM events WHERE channel = ? AND partition = ? AND dead IS NULL ORDER BY seq LIMIT 1";
        self.one(sql, params![channel, partition], |row| {
            Ok(Head {
                seq: row.get(0)?,
                due: row.get(1)?,
            })
        })
    }

    /// The event of the channel whose time comes first.
    pub(crate) fn first_due(&self, channel: &str) -> rusqlite::Result<Option<Head>> {
        let sql = "SELECT seq, due FROM events WHERE channel = ? AND dead IS NULL ORDER BY due, seq LIMIT 1";
        self.one(sql, params![channel], |row| {
            Ok(Head {
                seq: row.get(0)?,
                due: row.get(1)?,
            })
        })
    }

    /// Counts the next attempt of an event and reads the event.
    pub(crate) fn give_out(&self, seq: i64) -> rusqlite::Result<Option<(RecordedEvent, u32)>> {
        self.run(
            "UPDATE events SET attempt = attempt + 1, due = ? WHERE seq = ?",
            params![GIVEN_OUT, seq],
        )?;
        let sql = format!("SELECT {EVENT} FROM events WHERE seq = ?");
        self.one(&sql, params![seq], |row| Ok((event(row)?, row.get(8)?)))
    }

    /// Gives an event back that was given out.
    pub(crate) fn release(&self, seq: i64, counts: bool) -> rusqlite::Result<()> {
        let sql = "UPDATE events SET due = 0, attempt = max(0, attempt - ?) WHERE seq = ? AND due = ?";
        self.run(sql, params![u8::from(!counts), seq, GIVEN_OUT])
    }

    /// Ends an attempt. Returns the number of dead letters that went for a new one.
    pub(crate) fn settle(&self, channel: &str, seq: i64, settled: &Settled, most_dead: u32) -> rusqlite::Result<u64> {
        match settled {
            Settled::Done => self.run("DELETE FROM events WHERE seq = ?", params![seq])?,
            Settled::Retry(pause) => {
                let due = self.now().saturating_add(millis(*pause)).min(GIVEN_OUT - 1);
                self.run("UPDATE events SET due = ? WHERE seq = ?", params![due, seq])?;
            }
            Settled::Dead(reason) => {
                // There is one dead letter of an id.
                self.run(
                    "DELETE FROM events WHERE channel = ?1 AND dead IS NOT NULL \
                     AND id = (SELECT id FROM events WHERE seq = ?2)",
                    params![channel, seq],
                )?;
                let reason = &reason[..reason.floor_char_boundary(MAX_REASON)];
                let sql = "UPDATE events SET dead = ?, reason = ? WHERE seq = ?";
                self.run(sql, params![self.now(), reason, seq])?;
                let over = self.dead(channel)?.saturating_sub(most_dead.into());
                self.run(
                    "DELETE FROM events WHERE seq IN (SELECT seq FROM events \
                     WHERE channel = ? AND dead IS NOT NULL ORDER BY seq LIMIT ?)",
                    params![channel, i64::try_from(over).unwrap_or(i64::MAX)],
                )?;
                return Ok(over);
            }
        }
        Ok(0)
    }

    fn count(&self, sql: &str, channel: &str) -> rusqlite::Result<u64> {
        let count: Option<i64> = self.one(sql, params![channel], |row| row.get(0))?;
        Ok(count.unwrap_or_default().unsigned_abs())
    }

    /// The number of dead letters of a channel.
    pub(crate) fn dead(&self, channel: &str) -> rusqlite::Result<u64> {
        let sql = "SELECT count(*) FROM events WHERE channel = ? AND dead IS NOT NULL";
        self.count(sql, channel)
    }

    /// The number of events of a channel that wait. It reads them all.
    pub(crate) fn waiting(&self, channel: &str) -> rusqlite::Result<u64> {
        let sql = "SELECT count(*) FROM events WHERE channel = ? AND dead IS NULL";
        self.count(sql, channel)
    }

    /// When the first event of a partition that waits was emitted.
    pub(crate) fn oldest(&self, channel: &str, partition: u16) -> rusqlite::Result<Option<i64>> {
        let sql =
            "SELECT emitted FROM events WHERE channel = ? AND partition = ? AND dead IS NULL ORDER BY seq LIMIT 1";
        self.one(sql, params![channel, partition], |row| row.get(0))
    }

    pub(crate) fn dead_letters(
        &self,
        channel: &str,
        after: Option<&str>,
        most: usize,
    ) -> rusqlite::Result<Vec<DeadLetter>> {
        let sql = format!(
            "SELECT {EVENT}, reason, dead FROM events WHERE channel = ?1 AND dead IS NOT NULL AND seq > \
             coalesce((SELECT seq FROM events WHERE channel = ?1 AND dead IS NOT NULL AND id = ?2), 0) ORDER BY seq LIMIT ?3"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        statement
            .query_map(params![channel, after, most], dead_letter)?
            .collect()
    }

    pub(crate) fn dead_letter(&self, channel: &str, id: &str) -> rusqlite::Result<Option<DeadLetter>> {
        let sql = format!("SELECT {EVENT}, reason, dead FROM events WHERE channel = ? AND dead IS NOT NULL AND id = ?");
        self.one(&sql, params![channel, id], dead_letter)
    }

    /// Takes a dead letter out, and with `retry` puts its event behind the others. Returns whether it was there.
    pub(crate) fn settle_dead(&self, channel: &str, id: &str, retry: bool) -> rusqlite::Result<bool> {
        if retry {
            self.run(
                "INSERT INTO events (channel, partition, id, event, content_type, payload, depth, request_id, \
                 traceparent, emitted) \
                 SELECT channel, partition, id, event, content_type, payload, depth, request_id, traceparent, ? FROM events \
                 WHERE channel = ? AND dead IS NOT NULL AND id = ?",
                params![self.now(), channel, id],
            )?;
        }
        let sql = "DELETE FROM events WHERE channel = ? AND dead IS NOT NULL AND id = ?";
        Ok(self.changed(sql, params![channel, id])? > 0)
    }

    /// The settings under which events of the channel are kept.
    pub(crate) fn settings(&self, channel: &str) -> rusqlite::Result<Option<String>> {
        let sql = "SELECT settings FROM channels WHERE name = ?";
        self.one(sql, params![channel], |row| row.get(0))
    }

    pub(crate) fn set_settings(&self, channel: &str, settings: &str) -> rusqlite::Result<()> {
        let sql =
            "INSERT INTO channels (name, settings) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET settings = ?2";
        self.run(sql, params![channel, settings])
    }
}

/// Creates the file for this user alone: it has the payloads of events.
fn create(path: &Path) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

fn connect(options: &JournalOptions) -> rusqlite::Result<Connection> {
    let connection = Connection::open(&options.path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "locking_mode", "exclusive")?;
    if other_file(&connection)?.is_some() {
        return Ok(connection);
    }
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    if !has_tables(&connection)? {
        connection.execute_batch(SCHEMA)?;
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.pragma_update(None, "user_version", VERSION)?;
    }
    // Whoever had these events has ended.
    connection.execute("UPDATE events SET due = 0 WHERE dead IS NULL AND due <> 0", [])?;
    connection.execute_batch("COMMIT")?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

fn has_tables(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_master)", [], |row| row.get(0))
}

/// What the file is, unless it is empty or a journal.
fn other_file(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    if !has_tables(connection)? {
        return Ok(None);
    }
    Ok(match (pragma("application_id")?, pragma("user_version")?) {
        (APPLICATION, VERSION) => None,
        (APPLICATION, version) => Some(format!("it has the version {version}, expected {VERSION}")),
        _ => Some("it is another database".to_owned()),
    })
}

fn event(row: &Row<'_>) -> rusqlite::Result<RecordedEvent> {
    Ok(RecordedEvent {
        id: row.get(0)?,
        channel: row.get::<_, String>(1)?.into(),
        event: row.get(2)?,
        payload: Payload::new(row.get::<_, String>(3)?, row.get::<_, Vec<u8>>(4)?),
        depth: row.get(5)?,
        request_id: row.get(6)?,
        partition: row.get(7)?,
        traceparent: row.get(10)?,
    })
}

fn dead_letter(row: &Row<'_>) -> rusqlite::Result<DeadLetter> {
    let since: i64 = row.get(12)?;
    Ok(DeadLetter {
        event: event(row)?,
        attempts: row.get(8)?,
        reason: row.get(11)?,
        since: UNIX_EPOCH + Duration::from_millis(since.unsigned_abs()),
    })
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

pub(crate) fn failed(error: &rusqlite::Error) -> StoreError {
    let reason = match error.sqlite_error_code() {
        Some(rusqlite::ErrorCode::DiskFull) => "the journal is full".to_owned(),
        _ => format!("the journal failed: {error}"),
    };
    StoreError(reason)
}
