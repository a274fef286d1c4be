//! What `pointwork doctor` finds.

use std::fmt::Display;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::Error;
use crate::exit::Exit;
use crate::ui::{DONE, ERROR, NOTE, Terminal, styled};

/// Prints the findings, and remembers the first one that is missing.
pub(crate) struct Findings<'a> {
    terminal: &'a mut Terminal,
    missing: usize,
    exit: Option<Exit>,
}

impl<'a> Findings<'a> {
    pub(crate) fn new(terminal: &'a mut Terminal) -> Self {
        Self {
            terminal,
            missing: 0,
            exit: None,
        }
    }

    pub(crate) fn ok(&mut self, text: impl Display) {
        self.terminal.line(format_args!("{}       {text}", styled(DONE, "ok")));
    }

    pub(crate) fn note(&mut self, text: impl Display) {
        self.terminal.line(format_args!("{}     {text}", styled(NOTE, "note")));
    }

    pub(crate) fn missing(&mut self, exit: Exit, text: impl Display, what_to_do: &str) {
        self.missing += 1;
        self.exit.get_or_insert(exit);
        self.terminal.line(format_args!("{}  {text}", styled(ERROR, "missing")));
        for line in what_to_do.lines() {
            self.terminal.line(format_args!("         {line}"));
        }
    }

    /// Something is missing, as a command that needs it would report.
    pub(crate) fn error(&mut self, error: &Error) {
        self.missing(
            error.exit(),
            pointwork_core::error_chain(error),
            error.hint().unwrap_or_default(),
        );
    }

    /// An error if something is missing.
    pub(crate) fn end(self) -> Result<(), Error> {
        let Some(exit) = self.exit else {
            return Ok(());
        };
        let (is, them) = if self.missing == 1 {
            ("thing is", "it")
        } else {
            ("things are", "them")
        };
        let message = format!("{} {is} missing", self.missing);
        Err(Error::new(exit, message).with_hint(format!("the lines below `missing` say how to get {them}")))
    }
}

/// The first line of `--version`.
pub(super) fn version_of(mut command: Command, folder: &Path) -> std::io::Result<String> {
    let output = command
        .arg("--version")
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        let reason = errors.lines().find(|line| !line.trim().is_empty());
        let reason = reason.map_or_else(|| output.status.to_string(), str::to_owned);
        return Err(std::io::Error::other(reason));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// The first two numbers of a version such as `rustc 1.95.0 (…)` or `1.95`.
pub(crate) fn number(version: &str) -> Option<(u32, u32)> {
    let start = version.find(|c: char| c.is_ascii_digit())?;
    let mut parts = version[start..].split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(number("rustc 1.95.0 (abc 2026-01-01)"), Some((1, 95)));
        assert_eq!(number("1.100"), Some((1, 100)));
        assert!(number("1.100") > number("1.95.0-nightly"));
        assert_eq!(number("rustc"), None);
        assert!(number(env!("CARGO_PKG_RUST_VERSION")).is_some());
    }
}
