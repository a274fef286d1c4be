//! What SQLite says when it fails, in words for the caller and for whoever wrote the statement.

use std::fmt;

use rusqlite::ffi;

use crate::drivers::{Code, Failure};
use crate::suggest;

/// A failure at run time, for the module that called. SQLite's own words, which name tables, are its source.
pub(super) fn from_sqlite(error: rusqlite::Error) -> Failure {
    let (code, message) = match &error {
        rusqlite::Error::SqliteFailure(ffi::Error { code, extended_code }, text) => {
            classify(*code, *extended_code, text.as_deref().unwrap_or_default())
        }
        _ => (Code::Failed, FAILED.to_owned()),
    };
    Failure::new(code, message).with_source(error)
}

const FAILED: &str = "the database could not do it";

fn classify(code: ffi::ErrorCode, extended: i32, text: &str) -> (Code, String) {
    match code {
        ffi::ErrorCode::ConstraintViolation => constraint(extended, text),
        // The only one who interrupts is the look at the deadline.
        ffi::ErrorCode::OperationInterrupted => (
            Code::Deadline,
            "the time was over before the database was done".to_owned(),
        ),
        ffi::ErrorCode::DatabaseBusy | ffi::ErrorCode::DatabaseLocked => {
            (Code::Overloaded, "the database is busy".to_owned())
        }
        ffi::ErrorCode::TypeMismatch => (Code::BadPayload, "a value has the wrong type for its column".to_owned()),
        ffi::ErrorCode::TooBig => (Code::BadPayload, "a value is too big for the database".to_owned()),
        _ => (Code::Failed, FAILED.to_owned()),
    }
}

fn constraint(extended: i32, text: &str) -> (Code, String) {
    // "UNIQUE constraint failed: products.sku, products.shop"
    let subject = text
        .split_once("constraint failed: ")
        .map_or("", |(_, subject)| subject);
    let columns = || {
        let names = subject
            .split(", ")
            .filter_map(|column| column.split_once('.').map(|(_, name)| name));
        let names: Vec<&str> = names.collect();
        (!names.is_empty()).then(|| suggest::list(names))
    };
    match extended {
        ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_PRIMARYKEY | ffi::SQLITE_CONSTRAINT_ROWID => {
            let key = columns().unwrap_or_else(|| "key".to_owned());
            (Code::Conflict, format!("another row has the same {key}"))
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => (Code::Conflict, "a row refers to another that is not there".to_owned()),
        // The words of whoever wrote `RAISE(ABORT, '…')`.
        ffi::SQLITE_CONSTRAINT_TRIGGER if !text.is_empty() => (Code::Conflict, text.to_owned()),
        ffi::SQLITE_CONSTRAINT_NOTNULL => {
            let column = columns().unwrap_or_else(|| "a column".to_owned());
            (Code::BadPayload, format!("{column} must not be null"))
        }
        ffi::SQLITE_CONSTRAINT_CHECK => (Code::BadPayload, format!("the values break the rule `{subject}`")),
        ffi::SQLITE_CONSTRAINT_DATATYPE => (Code::BadPayload, "a value has the wrong type for its column".to_owned()),
        _ => (Code::Conflict, "the change breaks a rule of the database".to_owned()),
    }
}

/// What is wrong with a statement, for whoever wrote it.
#[derive(Debug)]
pub(super) struct Reason(pub(super) String);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Reason {}

/// SQLite's sentence, without the statement that it repeats, with the word that it stumbled over.
pub(super) fn reason(error: rusqlite::Error) -> Reason {
    match &error {
        rusqlite::Error::SqlInputError { msg, sql, offset, .. } => {
            let rest = usize::try_from(*offset)
                .ok()
                .and_then(|offset| sql.get(offset..))
                .unwrap_or_default();
            match rest
                .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ')'))
                .next()
            {
                Some(word) if !word.is_empty() && !msg.contains(word) => Reason(format!("{msg}, at `{word}`")),
                _ => Reason(msg.clone()),
            }
        }
        rusqlite::Error::SqliteFailure(_, Some(text)) => Reason(text.clone()),
        _ => Reason(error.to_string()),
    }
}

/// The line of `text` on which the error is, counted from 1. SQLite repeats the text from the failing statement on.
pub(super) fn place_in(error: &rusqlite::Error, text: &str) -> Option<usize> {
    let rusqlite::Error::SqlInputError { sql, offset, .. } = error else {
        return None;
    };
    let start = text.len().checked_sub(sql.len())?;
    let before = text.get(..start + usize::try_from(*offset).ok()?)?;
    Some(before.matches('\n').count() + 1)
}
