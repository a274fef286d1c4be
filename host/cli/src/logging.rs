//! The log, through `tracing`, to standard error.

use std::io;

use anstream::{AutoStream, ColorChoice};
use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

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

/// Directives in front of every filter. The access log is off unless it is wanted, and then its level does not matter; this
/// program itself says what to do about an application without routes.
const OWN_TARGETS: &str = "pointwork::access=info,pointwork::replay=off";

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
    // tracing-subscriber by itself looks at NO_COLOR only.
    let colours = !matches!(AutoStream::choice(&io::stderr()), ColorChoice::Never);
    let filter = args.log_level.as_deref().unwrap_or(default);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(format!("{OWN_TARGETS},{filter}")))
        .with_writer(io::stderr)
        .with_ansi(colours);
    // The only error is a subscriber that is set already.
    let _ = match args.log_format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().with_ansi(false).flatten_event(true).try_init(),
    };
}
