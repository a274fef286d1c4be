//! The log, through `tracing`, to standard error.

mod queue;

use std::backtrace::{Backtrace, BacktraceStatus};
use std::borrow::Cow;
use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};
use std::thread;

use anstream::{AutoStream, ColorChoice};
use clap::{Args, ValueEnum};
use pointwork_core::{is_unprintable, paragraph};
use serde_json::json;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};

pub(crate) use self::queue::LogQueue;
use crate::error::{OrFailed, Result};

/// The options of the log.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Logging")]
pub(crate) struct LogArgs {
    /// Format of the log
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT", global = true)]
    log_format: LogFormat,

    /// Filter of the log: a level, or directives as in `info,pointwork=debug` [default: info for serve, otherwise warn]
    ///
    /// Levels are error, warn, info, debug and trace. A directive names a target and its level. Directives are separated
    /// by commas; the most specific one counts.
    #[arg(
        long,
        env = "RUST_LOG",
        value_name = "FILTER",
        value_parser = parse_filter,
        hide_env_values = true,
        global = true
    )]
    log_level: Option<String>,
}

/// Directives in front of every filter. The access log is off unless it is wanted, and then its level does not matter; h2 warns of frames that
/// a client sends without end, a line for each; and async_nats tells of each attempt to connect, of which the driver tells the first.
const DEFAULT_DIRECTIVES: &str = "pointwork::access=info,h2=error,wasm_compose=warn,async_nats=off";

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// Readable lines
    Text,
    /// A JSON object per line
    Json,
}

/// Checks the filter while the command line is parsed, so that an invalid one is a usage error. The result is the text,
/// because a parsed filter cannot be cloned.
fn parse_filter(text: &str) -> Result<String, String> {
    let filter = EnvFilter::builder().parse(text);
    filter
        .map(|_| text.to_owned())
        .map_err(|error| format!("{error}; expected a level like `info` or directives like `info,pointwork=debug`"))
}

/// Sets the log of the process; `default` is the filter without `--log-level`. Later calls change nothing.
pub(crate) fn init(args: &LogArgs, default: &str) {
    set(args, default, io::stderr);
}

/// Sets the log of a server, which never waits for standard error: see [`LogQueue`]. Panics are lines of the log too.
///
/// # Errors
/// If the thread that writes does not start.
pub(crate) fn init_server(args: &LogArgs) -> Result<LogQueue> {
    let format = args.log_format;
    let notice = move |count: u64| {
        let lines = if count == 1 { "line was" } else { "lines were" };
        let reason = "the standard error did not take them in time, or not at all";
        format.line(
            "WARN",
            "pointwork::log",
            &format!("{count} log {lines} dropped: {reason}"),
        )
    };
    let queue = LogQueue::start(io::stderr(), Box::new(notice)).or_failed("cannot start the log")?;
    set(args, "info", queue.clone());
    let panics = queue.clone();
    // Not through `tracing`, within which the panic may be.
    panic::set_hook(Box::new(move |panic| {
        panics.push(&format.line("ERROR", "pointwork::panic", &text_of(panic)));
    }));
    Ok(queue)
}

fn set<W>(args: &LogArgs, default: &str, writer: W)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    // tracing-subscriber by itself looks at NO_COLOR only.
    let colours = !matches!(AutoStream::choice(&io::stderr()), ColorChoice::Never);
    let filter = args.log_level.as_deref().unwrap_or(default);
    let format = args.log_format;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(format!("{DEFAULT_DIRECTIVES},{filter}")))
        .with_writer(Printable { to: writer, format })
        .log_internal_errors(false)
        .with_ansi(colours);
    // The only error is a subscriber that is set already.
    let _ = match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().with_ansi(false).flatten_event(true).try_init(),
    };
}

fn text_of(panic: &PanicHookInfo<'_>) -> String {
    let thread = thread::current();
    let mut text = format!("thread `{}` panicked", thread.name().unwrap_or("unnamed"));
    if let Some(place) = panic.location() {
        text.push_str(&format!(" at {place}"));
    }
    let message = panic.payload_as_str().unwrap_or("without a text");
    text.push_str(&format!(": {message}"));
    let backtrace = Backtrace::capture();
    if backtrace.status() == BacktraceStatus::Captured {
        text.push_str(&format!("\n{backtrace}"));
    }
    text
}

impl LogFormat {
    /// A line that does not come through `tracing`.
    fn line(self, level: &str, target: &str, message: &str) -> Vec<u8> {
        let mut time = String::new();
        // A clock that cannot be shown is no reason to lose the line.
        let _ = SystemTime.format_time(&mut Writer::new(&mut time));
        let line = match self {
            Self::Text => format!("{time} {level:>5} {target}: {}\n", paragraph(message, usize::MAX)),
            Self::Json => {
                let line = json!({"timestamp": time, "level": level, "message": message, "target": target});
                format!("{line}\n")
            }
        };
        line.into_bytes()
    }

    /// The line with its unprintable characters escaped, and its further lines indented: a name, a path or a message of the
    /// system may have any character.
    fn printable(self, line: &str) -> Cow<'_, str> {
        // tracing-subscriber escapes those of texts; what is left is a colour.
        let is_colour = |character| character == '\u{1b}';
        let text = line.strip_suffix('\n').unwrap_or(line);
        // Most lines, as those of the access log, need no look at each character.
        if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | 0x1b)) {
            return line.into();
        }
        if !text.contains(|character| is_unprintable(character) && !is_colour(character)) {
            return line.into();
        }
        let shown: String = match self {
            Self::Text => {
                let parts = line.split_inclusive(is_colour);
                parts
                    .map(|part| {
                        let (text, colour) = part.strip_suffix(is_colour).map_or((part, ""), |text| (text, "\u{1b}"));
                        format!("{}{colour}", paragraph(text, usize::MAX))
                    })
                    .collect()
            }
            Self::Json => text
                .chars()
                .map(|character| match is_unprintable(character) {
                    true => format!("\\u{:04x}", u32::from(character)),
                    false => character.to_string(),
                })
                .chain(["\n".to_owned()])
                .collect(),
        };
        shown.into()
    }
}

/// Writes lines as [`LogFormat::printable`] shows them.
struct Printable<W> {
    to: W,
    format: LogFormat,
}

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for Printable<W> {
    type Writer = Printable<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        let (to, format) = (self.to.make_writer(), self.format);
        Printable { to, format }
    }
}

/// Each write is a line.
impl<W: Write> Write for Printable<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.to.write_all(self.format.printable(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beside_tracing_have_its_format() {
        let text = LogFormat::Text.line("WARN", "pointwork::log", "3 lines");
        let text = String::from_utf8(text).expect("text");
        assert!(text.ends_with("Z  WARN pointwork::log: 3 lines\n"), "{text}");
        let json = LogFormat::Json.line("ERROR", "pointwork::panic", "two\nlines");
        let line = json.strip_suffix(b"\n").expect("a line");
        assert!(!line.contains(&b'\n'));
        let line: serde_json::Value = serde_json::from_slice(line).expect("JSON");
        assert_eq!(
            (&line["level"], &line["target"], &line["message"]),
            (&"ERROR".into(), &"pointwork::panic".into(), &"two\nlines".into())
        );
        assert!(line["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')));
    }
    #[test]
    fn characters_that_do_not_fit_a_line_are_escaped_in_every_format() {
        let line = "\u{1b}[32m INFO\u{1b}[0m module `a\u{202e}b` is\n2026 ERROR forged\n    kept\n";
        assert_eq!(
            LogFormat::Text.printable(line),
            "\u{1b}[32m INFO\u{1b}[0m module `a\\u{202e}b` is\n    2026 ERROR forged\n    kept\n"
        );
        assert_eq!(
            LogFormat::Json.printable("{\"message\":\"a\u{2028}b\u{7f}\"}\n"),
            "{\"message\":\"a\\u2028b\\u007f\"}\n"
        );
        for plain in ["INFO module loaded\n", "{\"message\":\"läden\"}\n"] {
            assert!(matches!(LogFormat::Text.printable(plain), Cow::Borrowed(_)), "{plain}");
        }
    }
}
