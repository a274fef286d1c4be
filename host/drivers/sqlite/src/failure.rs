//! Messages for the errors of SQLite: for the caller of an event, and for the author of a statement.

use pointwork_core::{Failure, FailureCode};
use rusqlite::ffi::{self, ErrorCode};

/// The message for the caller in place of that of SQLite, which goes to the log.
pub(crate) const FAILED: &str = "the database failed";

/// The failure of an event, with the error of SQLite for the log.
#[derive(Debug, thiserror::Error)]
#[error("{failure}")]
pub(crate) struct EventError {
    pub(crate) failure: Failure,
    pub(crate) source: Option<Box<rusqlite::Error>>,
}

pub(crate) fn failure(code: FailureCode, message: impl Into<String>) -> EventError {
    EventError {
        failure: Failure::of(code, message),
        source: None,
    }
}

fn conflict(message: impl Into<String>) -> EventError {
    failure(FailureCode::CONFLICT, message)
}

impl From<rusqlite::Error> for EventError {
    fn from(error: rusqlite::Error) -> Self {
        let classified = match &error {
            rusqlite::Error::SqliteFailure(failure, text) => classify(*failure, text.as_deref().unwrap_or_default()),
            _ => failure(FailureCode::FAILED, FAILED),
        };
        Self {
            source: Some(Box::new(error)),
            ..classified
        }
    }
}

fn classify(error: ffi::Error, text: &str) -> EventError {
    match error.code {
        ErrorCode::ConstraintViolation => constraint(error.extended_code, text),
        // Only the progress handler interrupts, at the deadline or for a caller that is gone, which gets no result.
        ErrorCode::OperationInterrupted => failure(
            FailureCode::DEADLINE,
            "the deadline passed before the database had finished",
        ),
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => failure(FailureCode::OVERLOADED, "the database is busy"),
        ErrorCode::TooBig => failure(FailureCode::TOO_LARGE, "a value or a row has more than 64 MiB"),
        _ => failure(FailureCode::FAILED, FAILED),
    }
}

/// A change that contradicts stored rows, or that the author's trigger refuses, is a conflict. A value that its column cannot hold is a
/// mistake between the module and the schema. No message names a part of the schema: it may reach the client.
fn constraint(extended: i32, text: &str) -> EventError {
    match extended {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            conflict("another row has the same key")
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => conflict("a row refers to another that does not exist"),
        // The text of `RAISE(ABORT, '…')`.
        ffi::SQLITE_CONSTRAINT_TRIGGER if !text.is_empty() => conflict(text),
        _ => failure(FailureCode::FAILED, FAILED),
    }
}

/// The message of SQLite without the statement that it repeats, with the word at its place.
pub(crate) fn reason(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqlInputError { msg, sql, offset, .. } => {
            let rest = usize::try_from(*offset).ok().and_then(|offset| sql.get(offset..));
            let is_end = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | ')');
            match rest.and_then(|rest| rest.split(is_end).next()) {
                Some(word) if !word.is_empty() && !msg.contains(word) => format!("{msg}, at `{word}`"),
                _ => msg.clone(),
            }
        }
        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
        _ => error.to_string(),
    }
}

/// The line of `text` that has the error, counted from 1. SQLite repeats the text from the failing statement on.
pub(crate) fn line_of(error: &rusqlite::Error, text: &str) -> Option<usize> {
    let rusqlite::Error::SqlInputError { sql, offset, .. } = error else {
        return None;
    };
    let start = text.len().checked_sub(sql.len())?;
    let before = text.get(..start + usize::try_from(*offset).ok()?)?;
    Some(before.matches('\n').count() + 1)
}
