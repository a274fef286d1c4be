//! Explains why a compile worker ended without an answer.

use std::process::ExitStatus;

use crate::{CompileOptions, Error, ErrorKind};

/// The error for a worker that ended with this status, and with these last lines on its standard error.
pub(super) fn explain(status: ExitStatus, stderr: &str, options: &CompileOptions) -> Error {
    let (reason, hint) = reason(status, stderr, options);
    let error = Error::new(ErrorKind::Compile, format!("the compile worker {reason}"));
    let error = match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    };
    // One line of a log, without the advice that Rust gives to the reader of a panic.
    let lines = stderr.lines().map(str::trim);
    let lines: Vec<_> = lines
        .filter(|line| !line.is_empty() && !line.starts_with("note: "))
        .collect();
    if lines.is_empty() {
        return error;
    }
    error.with_source(format!("its standard error: {}", lines.join("; ")))
}

const SMALLER: &str = "a smaller or simpler component takes less; or set a higher limit for compiling";

fn reason(status: ExitStatus, stderr: &str, options: &CompileOptions) -> (String, Option<&'static str>) {
    // Rust's allocator writes this, and aborts the process.
    if stderr.contains("memory allocation of ") {
        return (out_of_memory(options.memory), Some(SMALLER));
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return by_signal(signal, stderr, options);
    }
    match status.code() {
        Some(0) => (
            "ended without an answer".to_owned(),
            Some("the program must run `pointwork::compile_worker`"),
        ),
        // The exit code of a panic.
        Some(101) => ("panicked".to_owned(), None),
        Some(code) => (format!("ended with code {code}"), None),
        None => (format!("ended with {status}"), None),
    }
}

/// `limit` is in bytes.
pub(super) fn out_of_memory(limit: u64) -> String {
    format!("ran out of memory: its limit is {limit} bytes")
}

#[cfg(unix)]
fn by_signal(signal: i32, stderr: &str, options: &CompileOptions) -> (String, Option<&'static str>) {
    use rustix::process::Signal;

    let is = |other: Signal| signal == other.as_raw();
    if is(Signal::XCPU) {
        let message = format!("used up its processor time of {:?}", options.time);
        return (message, Some(SMALLER));
    }
    if is(Signal::KILL) {
        let message = "was killed: by the system, out of memory, or by a user".to_owned();
        return (message, None);
    }
    if is(Signal::ABORT) && stderr.contains("has overflowed its stack") {
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

    fn explained(raw: i32, stderr: &str) -> Error {
        let options = CompileOptions {
            time: Duration::from_secs(7),
            memory: 4096,
            ..CompileOptions::new()
        };
        explain(ExitStatus::from_raw(raw), stderr, &options)
    }

    #[test]
    fn the_explanation_is_one_line_for_the_log() {
        let error = explained(
            6,
            "thread 'main' panicked at a.rs:1:\n\n  no text\nnote: run with a backtrace\n",
        );
        let source = error.source().map(ToString::to_string);
        assert_eq!(
            source.as_deref(),
            Some("its standard error: thread 'main' panicked at a.rs:1:; no text")
        );
    }

    #[test]
    fn each_exit_is_explained() {
        let code = |code: i32| code << 8;
        let cases = [
            (24, "", "used up its processor time of 7s"),
            (9, "", "was killed: by the system, out of memory, or by a user"),
            (
                6,
                "memory allocation of 8 bytes failed",
                "ran out of memory: its limit is 4096 bytes",
            ),
            (6, "thread 'main' has overflowed its stack", "overflowed its stack"),
            (11, "", "crashed with signal 11"),
            (code(0), "", "ended without an answer"),
            (code(101), "", "panicked"),
            (code(3), "", "ended with code 3"),
        ];
        for (raw, stderr, expected) in cases {
            let error = explained(raw, stderr);
            assert_eq!(error.to_string(), format!("the compile worker {expected}"));
            assert_eq!(error.source().is_some(), !stderr.is_empty());
        }
    }
}
