//! How a compile worker came to its end without an answer, in plain words.

use std::process::ExitStatus;

use crate::app::options::CompileOptions;
use crate::{Error, ErrorKind};

/// `noise` is what it said on its standard error.
pub(super) fn explain(status: ExitStatus, noise: &str, options: &CompileOptions) -> Error {
    let (how, hint) = how(status, noise, options);
    let error = Error::new(ErrorKind::Compile, format!("the compile worker {how}"));
    let error = match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    };
    match noise.trim() {
        "" => error,
        noise => error.with_source(format!("it said: {noise}")),
    }
}

const SMALLER: &str = "a smaller or simpler component takes less; or set a higher limit for compiling";

fn how(status: ExitStatus, noise: &str, options: &CompileOptions) -> (String, Option<&'static str>) {
    // Rust's allocator says this, and ends the process.
    if noise.contains("memory allocation of ") {
        return (out_of_memory(options.memory), Some(SMALLER));
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return by_signal(signal, noise, options);
    }
    match status.code() {
        Some(0) => (
            "ended without an answer".to_owned(),
            Some("the program must run `pointwork::compile_worker`"),
        ),
        // What a program ends with that panicked.
        Some(101) => ("panicked".to_owned(), None),
        Some(code) => (format!("ended with code {code}"), None),
        None => (format!("ended with {status}"), None),
    }
}

/// `limit` is in bytes.
pub(super) fn out_of_memory(limit: u64) -> String {
    format!("ran out of memory: it may take {limit} bytes")
}

#[cfg(unix)]
fn by_signal(signal: i32, noise: &str, options: &CompileOptions) -> (String, Option<&'static str>) {
    use rustix::process::Signal;

    let is = |other: Signal| signal == other.as_raw();
    if is(Signal::XCPU) {
        let message = format!("used up its processor time of {:?}", options.time);
        return (message, Some(SMALLER));
    }
    if is(Signal::KILL) {
        let message = "was killed: the system was out of memory, or somebody ended it".to_owned();
        return (message, None);
    }
    if is(Signal::ABORT) && noise.contains("has overflowed its stack") {
        return ("overflowed its stack".to_owned(), None);
    }
    (format!("crashed with signal {signal}"), None)
}

#[cfg(all(test, unix))]
mod tests {
    use std::error::Error as _;
    use std::os::unix::process::ExitStatusExt;
    use std::time::Duration;

    use super::*;

    fn explained(raw: i32, noise: &str) -> Error {
        let options = CompileOptions {
            time: Duration::from_secs(7),
            memory: 4096,
            ..CompileOptions::default()
        };
        explain(ExitStatus::from_raw(raw), noise, &options)
    }

    #[test]
    fn each_end_has_its_words() {
        let code = |code: i32| code << 8;
        let cases = [
            (24, "", "used up its processor time of 7s"),
            (9, "", "was killed: the system was out of memory, or somebody ended it"),
            (
                6,
                "memory allocation of 8 bytes failed",
                "ran out of memory: it may take 4096 bytes",
            ),
            (6, "thread 'main' has overflowed its stack", "overflowed its stack"),
            (11, "", "crashed with signal 11"),
            (code(0), "", "ended without an answer"),
            (code(101), "", "panicked"),
            (code(3), "", "ended with code 3"),
        ];
        for (raw, noise, expected) in cases {
            let error = explained(raw, noise);
            assert_eq!(error.to_string(), format!("the compile worker {expected}"));
            assert_eq!(error.source().is_some(), !noise.is_empty());
        }
    }
}
