//! The rules for a reply of a guest. The host checks them, and unit tests of modules, which run without a host.

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

/// The most bytes of the headers of a guest's reply, counted as HTTP/2 does: names, values, and 32 bytes for each header.
const MAX_HEADER_BYTES: usize = 64 * 1024;

/// The longest details of a failure, in bytes. As values in memory they take up to sixteen times as much.
const MAX_DETAILS: usize = 64 * 1024;

/// Refuses an informational or an undefined status.
///
/// # Errors
///
/// A message with the status and the statuses that were expected.
pub fn check_status(status: u16) -> Result<(), String> {
    if (200..=599).contains(&status) {
        return Ok(());
    }
    Err(format!("{status} cannot be the status of a reply; expected 200 to 599"))
}

/// Refuses headers that are too large together. `lengths` has the bytes of the name and the value of each header.
///
/// # Errors
///
/// A message with the size of the headers and the limit.
pub fn check_header_bytes(lengths: impl ExactSizeIterator<Item = usize>) -> Result<(), String> {
    let count = lengths.len();
    let bytes: usize = lengths.map(|length| length + 32).sum();
    if bytes <= MAX_HEADER_BYTES {
        return Ok(());
    }
    Err(format!(
        "{count} headers of {bytes} bytes are too many; expected {MAX_HEADER_BYTES} at most, of which each header takes \
         32 beside its name and its value"
    ))
}

/// Refuses a body that is declared as JSON and is none.
///
/// # Errors
///
/// Where the text is no JSON.
pub fn check_json(body: &str) -> Result<(), String> {
    match serde_json::from_str::<IgnoredAny>(body) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("the body is declared as JSON and is none: {error}")),
    }
}

/// Reads the details of a failure.
///
/// # Errors
///
/// The details are too long, or no JSON object.
pub fn read_details(details: &str) -> Result<Map<String, Value>, String> {
    if details.len() > MAX_DETAILS {
        return Err(format!(
            "the details have {} bytes; expected {MAX_DETAILS} at most",
            details.len()
        ));
    }
    serde_json::from_str(details).map_err(|error| format!("the details are not a JSON object: {error}"))
}
