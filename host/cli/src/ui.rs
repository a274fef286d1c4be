//! The output of the command line.

use std::io::{self, Stderr, Stdout, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use std::{fmt, thread};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use pointwork_core::one_line;

use crate::error::{Error, OrFailed, Result};
use crate::logging::LogQueue;

/// The time that the lines of a server's log have before its banner and at its end, if nobody reads them.
const LOG_WAIT: Duration = Duration::from_secs(1);

/// The label of an error.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// The label of a warning.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// The label of a note or a hint.
pub(crate) const NOTE: Style = AnsiColor::Cyan.on_default().bold();
/// A completed step.
pub(crate) const DONE: Style = AnsiColor::Green.on_default().bold();
/// The important name of a line.
pub(crate) const STRONG: Style = Style::new().bold();

/// `text` in a style.
pub(crate) fn styled(style: Style, text: impl fmt::Display) -> impl fmt::Display {
    fmt::from_fn(move |f| write!(f, "{style}{text}{style:#}"))
}

/// The path relative to the current directory, if it lies below it.
pub(crate) fn relative(path: &Path) -> &Path {
    std::env::current_dir()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok())
        .unwrap_or(path)
}

/// The two streams of a command.
///
/// A failed write does not interrupt the command; [`finish`](Self::finish) returns the first one.
pub(crate) struct Terminal {
    out: AutoStream<Stdout>,
    err: AutoStream<Stderr>,
    failed: Option<io::Error>,
    /// Whether a line was printed.
    printed: bool,
    /// The log of a server.
    log: Option<LogQueue>,
    /// Whether a server runs: then nothing waits for a stream.
    serves: bool,
}

impl Terminal {
    /// The streams of the process. Colours depend on `--color`, `NO_COLOR` and on whether the stream is a terminal.
    pub(crate) fn standard() -> Self {
        Self {
            out: AutoStream::auto(io::stdout()),
            err: AutoStream::auto(io::stderr()),
            failed: None,
            printed: false,
            log: None,
            serves: false,
        }
    }

    /// The streams of a process that becomes a server with this log.
    pub(crate) fn of_server(log: LogQueue) -> Self {
        Self {
            log: Some(log),
            ..Self::standard()
        }
    }

    /// The server begins. From now on remarks are lines of its log.
    pub(crate) fn serves(&mut self) {
        self.serves = true;
    }

    /// The number of lines of the log that were dropped.
    pub(crate) fn dropped_lines(&self) -> Arc<AtomicU64> {
        self.log.as_ref().map(LogQueue::dropped).unwrap_or_default()
    }

    /// Prints the banner of a server to standard output, on a thread that waits for its reader in the place of the server.
    /// A failed write is a warning in the log: nothing that reads a banner may stop a server.
    pub(crate) fn banner(text: String) -> Result<()> {
        let print = move || {
            let mut out = AutoStream::auto(io::stdout());
            let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            if let Err(error) = printed {
                tracing::warn!("the banner cannot be written to standard output: {error}");
            }
        };
        let thread = thread::Builder::new().name("pointwork-banner".to_owned());
        thread.spawn(print).or_failed("cannot print the banner")?;
        Ok(())
    }

    /// Waits until the log of a server is written, for a short time.
    pub(crate) fn flush_log(&self) {
        if let Some(log) = &self.log {
            log.flush(LOG_WAIT);
        }
    }

    /// A line of the result, to standard output.
    pub(crate) fn line(&mut self, text: impl fmt::Display) {
        self.printed = true;
        if let Err(error) = writeln!(self.out, "{text}") {
            self.failed.get_or_insert(error);
        }
    }

    /// A line for each text below a headline; the first has the label.
    pub(crate) fn rows(&mut self, label: &str, texts: &[String]) {
        if texts.is_empty() {
            self.row(label, "nothing");
        }
        for (index, text) in texts.iter().enumerate() {
            self.row(if index == 0 { label } else { "" }, text);
        }
    }

    /// A line below a headline: a label and a text.
    pub(crate) fn row(&mut self, label: &str, text: &str) {
        let text = one_line(text, usize::MAX);
        self.line(format_args!("  {} {text}", styled(STRONG, format_args!("{label:<8}"))));
    }

    /// A note about the progress, to standard error.
    pub(crate) fn note(&mut self, text: impl fmt::Display) {
        self.remark(NOTE, "note", &text);
    }

    /// A probable mistake, to standard error.
    pub(crate) fn warning(&mut self, text: impl fmt::Display) {
        self.remark(WARNING, "warning", &text);
    }

    /// Something to do about a probable mistake, to standard error.
    pub(crate) fn hint(&mut self, text: impl fmt::Display) {
        self.remark(NOTE, "hint", &text);
    }

    /// An error, its causes and its hint, to standard error.
    pub(crate) fn error(&mut self, error: &Error) {
        self.remark(ERROR, "error", error);
        for cause in pointwork_core::causes(error) {
            self.remark(STRONG, "  caused by", &cause);
        }
        if let Some(hint) = error.hint() {
            self.remark(NOTE, "hint", &hint);
        }
    }

    /// Flushes the streams and returns the first failed write.
    ///
    /// A pipe that its reader closed early (`pointwork routes | head -1`) is not an error.
    pub(crate) fn finish(&mut self) -> Result<()> {
        // Another thread may wait with the stream, see `banner`.
        if self.printed
            && let Err(error) = self.out.flush()
        {
            self.failed.get_or_insert(error);
        }
        match self.failed.take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::failed("cannot write to standard output").with_source(error))
            }
            _ => Ok(()),
        }
    }

    /// `label: text`, with further lines indented below the text.
    fn remark(&mut self, style: Style, label: &str, text: &dyn fmt::Display) {
        let indent = format!("\n{}", " ".repeat(label.len() + 2));
        let text = text.to_string();
        let lines: Vec<_> = text
            .trim_end()
            .lines()
            .map(|line| one_line(line, usize::MAX).to_string())
            .collect();
        let text = lines.join(&indent).replace(&format!("{indent}\n"), "\n\n");
        let line = format!("{} {text}\n", styled(style, format_args!("{label}:")));
        // A failed write to standard error cannot be reported.
        let _ = match self.log.as_ref().filter(|_| self.serves) {
            Some(log) => {
                let mut shown = AutoStream::new(Vec::new(), AutoStream::choice(&io::stderr()));
                let written = shown.write_all(line.as_bytes());
                log.push(&shown.into_inner());
                written
            }
            None => self.err.write_all(line.as_bytes()),
        };
    }
}
