//! Log lines, through `tracing`, to standard error.

use std::io;

use anstream::{AutoStream, ColorChoice};
use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

/// The options that shape the log.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Logging")]
pub(crate) struct LogArgs {
    /// How log lines are written
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT", global = true)]
    log_format: LogFormat,

    /// What is logged: a level, or directives as in `info,pointwork=debug` [default: info for serve, otherwise warn]
    ///
    /// Levels are error, warn, info, debug and trace. A directive names a target and its level; directives are separated
    /// by commas, and the most specific one counts.
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

/// How a log line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    /// One readable line each
    Text,
    /// One JSON object each
    Json,
}

/// Checks the filter while the command line is read, so that a wrong one is a usage error. The text goes on, because a
/// parsed filter cannot be cloned.
fn parse_filter(text: &str) -> Result<String, String> {
    match EnvFilter::builder().parse(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!(
            "{error}; expected a level like `info` or directives like `info,pointwork=debug`"
        )),
    }
}

/// Makes this log the one of the process, at the level `usual` if nobody asked for another. Later calls change nothing.
pub(crate) fn init(args: &LogArgs, usual: &str) {
    // Colours are decided here, once: tracing-subscriber by itself looks at NO_COLOR alone.
    let colours = !matches!(AutoStream::choice(&io::stderr()), ColorChoice::Never);
    let builder = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(args.log_level.as_deref().unwrap_or(usual)))
        .with_writer(io::stderr)
        .with_ansi(colours);
    // The only error is that a subscriber is set already.
    let _ = match args.log_format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().with_ansi(false).flatten_event(true).try_init(),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filter_is_a_level_or_directives() {
        assert_eq!(parse_filter("debug").as_deref(), Ok("debug"));
        assert_eq!(
            parse_filter("warn,pointwork=trace").as_deref(),
            Ok("warn,pointwork=trace")
        );
    }

    #[test]
    fn filter_that_is_neither_is_refused() {
        let error = parse_filter("pointwork=loud").expect_err("no such level");
        assert!(error.contains("expected a level"), "{error}");
    }
}
