//! The tables of a journal.

/// Marks the file as a journal: `PWJ1`.
pub(crate) const APPLICATION: i32 = 0x5057_4a31;

/// The number of this schema.
pub(crate) const VERSION: i32 = 1;

/// The time in `due` of an event that was given out. Times are milliseconds.
pub(crate) const GIVEN_OUT: i64 = i64::MAX;

/// `dead` is when the event became a dead letter, NULL while it waits.
pub(crate) const SCHEMA: &str = "
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    channel TEXT NOT NULL,
    partition INTEGER NOT NULL,
    id TEXT NOT NULL,
    event TEXT NOT NULL,
    content_type TEXT NOT NULL,
    payload BLOB NOT NULL,
    depth INTEGER NOT NULL,
    request_id TEXT,
    traceparent TEXT,
    emitted INTEGER NOT NULL,
    attempt INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL DEFAULT 0,
    dead INTEGER,
    reason TEXT
);
CREATE INDEX in_order ON events (channel, partition, seq) WHERE dead IS NULL;
CREATE INDEX by_time ON events (channel, due, seq) WHERE dead IS NULL;
CREATE UNIQUE INDEX dead_letters ON events (channel, id) WHERE dead IS NOT NULL;
CREATE INDEX oldest_dead ON events (channel, seq) WHERE dead IS NOT NULL;
CREATE TABLE known (
    id TEXT PRIMARY KEY,
    until INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX known_until ON known (until);
CREATE TABLE channels (
    name TEXT PRIMARY KEY,
    settings TEXT NOT NULL
) WITHOUT ROWID;
";
