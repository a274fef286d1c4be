//! The output of the command line.

use std::fmt;
use std::io::{self, Stderr, Stdout, Write};

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};

use crate::error::{Error, Result};

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

/// The two streams of a command.
///
/// A failed write does not interrupt the command; [`finish`](Self::finish) returns the first one.
pub(crate) struct Terminal {
    out: AutoStream<Stdout>,
    err: AutoStream<Stderr>,
    failed: Option<io::Error>,
}

impl Terminal {
    /// The streams of the process. Colours depend on `--color`, `NO_COLOR` and on whether the stream is a terminal.
    pub(crate) fn standard() -> Self {
        Self {
            out: AutoStream::auto(io::stdout()),
            err: AutoStream::auto(io::stderr()),
            failed: None,
        }
    }

    /// A line of the result, to standard output.
    pub(crate) fn line(&mut self, text: impl fmt::Display) {
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
        for cause in error.causes() {
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
        if let Err(error) = self.out.flush() {
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
        let text = text.to_string().trim_end().replace('\n', &indent);
        let text = text.replace(&format!("{indent}\n"), "\n\n");
        // A failed write to standard error cannot be reported.
        let _ = writeln!(self.err, "{} {text}", styled(style, format_args!("{label}:")));
    }
}
