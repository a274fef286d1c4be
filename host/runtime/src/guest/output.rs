//! The standard output and the standard error of a guest: each line becomes a line of the log.

use pointwork_core::one_line;
use tracing::Span;

use super::MAX_LOG_LINE;
use super::budget::Budget;
use crate::guest::limiter::Exceeded;

#[derive(Clone, Copy, Debug)]
pub(super) enum OutputStream {
    Output,
    Error,
}

impl OutputStream {
    /// Logs a line: of the call whose span that is, or of the module alone.
    fn log(self, module: &str, span: Option<&Span>, line: &[u8]) {
        // A line outside of a call must not stand in the span of the request for which the host made the instance.
        let parent = span.and_then(|span| span.id().or_else(|| Span::current().id()));
        let line = String::from_utf8_lossy(line);
        let line = one_line(&line, MAX_LOG_LINE);
        match self {
            Self::Output => tracing::info!(parent: parent, module, from = "stdout", "{line}"),
            Self::Error => tracing::warn!(parent: parent, module, from = "stderr", "{line}"),
        }
    }
}

/// The beginning of a line.
#[derive(Debug, Default)]
pub(super) struct LineBuffer(Vec<u8>);

impl LineBuffer {
    /// Adds bytes, and passes each line that is complete to `log`: at its newline, and after the last whole character of 8 KiB.
    pub(super) fn add<E>(&mut self, mut bytes: &[u8], mut log: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        loop {
            let room = MAX_LOG_LINE - self.0.len();
            let within = &bytes[..bytes.len().min(room + 1)];
            if let Some(newline) = within.iter().position(|&byte| byte == b'\n') {
                let end = &bytes[..newline];
                bytes = &bytes[newline + 1..];
                if self.0.is_empty() {
                    log(end)?;
                } else {
                    self.0.extend_from_slice(end);
                    log(&std::mem::take(&mut self.0))?;
                }
            } else if within.len() > room {
                let mut line = std::mem::take(&mut self.0);
                line.extend_from_slice(&bytes[..room]);
                bytes = &bytes[room..];
                self.0 = line.split_off(line.len() - begun_character(&line));
                log(&line)?;
            } else {
                break;
            }
        }
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes what is there of a line.
    pub(super) fn end(&mut self) -> Option<Vec<u8>> {
        Some(std::mem::take(&mut self.0)).filter(|line| !line.is_empty())
    }
}

/// The length of the character of several bytes that is not whole at the end.
fn begun_character(bytes: &[u8]) -> usize {
    // The first byte has as many leading ones as the character has bytes; a byte behind it has one.
    let mut last = bytes
        .iter()
        .rev()
        .map(|byte| byte.leading_ones() as usize)
        .take(3)
        .zip(1..);
    let first = last.find(|&(ones, _)| ones != 1);
    first.map_or(0, |(ones, there)| if ones > there { there } else { 0 })
}

/// The begun lines of one call.
#[derive(Debug, Default)]
pub(super) struct Output {
    output: LineBuffer,
    error: LineBuffer,
}

/// Where the lines of an instance go.
pub(super) struct LineLog<'a> {
    pub(super) module: &'a str,
    /// The budget that each line is taken from.
    pub(super) lines: &'a Budget,
    /// That of the call that prints, if one does.
    pub(super) span: Option<Span>,
}

impl Output {
    /// # Errors
    /// If the call's budget of lines is spent.
    pub(super) fn print(&mut self, stream: OutputStream, bytes: &[u8], log: &LineLog<'_>) -> Result<(), Exceeded> {
        let buffer = match stream {
            OutputStream::Output => &mut self.output,
            OutputStream::Error => &mut self.error,
        };
        buffer.add(bytes, |line| log.write(stream, line))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.output.is_empty() && self.error.is_empty()
    }

    /// Logs the lines that have no newline: the call has ended.
    pub(super) fn end(&mut self, log: &LineLog<'_>) {
        let streams = [
            (OutputStream::Output, &mut self.output),
            (OutputStream::Error, &mut self.error),
        ];
        for (stream, buffer) in streams {
            log.end(stream, buffer);
        }
    }
}

impl LineLog<'_> {
    /// Logs what there is of a line: what began it has ended.
    pub(super) fn end(&self, stream: OutputStream, buffer: &mut LineBuffer) {
        let Some(line) = buffer.end() else { return };
        if let Err(exceeded) = self.write(stream, &line) {
            // The call has ended, so that the limit cannot end it.
            let module = self.module;
            tracing::error!(module, "{exceeded}: the line that the call began last is dropped");
        }
    }

    /// # Errors
    /// If the call's budget of lines is spent.
    pub(super) fn write(&self, stream: OutputStream, line: &[u8]) -> Result<(), Exceeded> {
        if self.lines.spend(self.module)?.is_none() {
            stream.log(self.module, self.span.as_ref(), line);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(writes: &[&[u8]]) -> Vec<Vec<u8>> {
        let (mut buffer, mut lines) = (LineBuffer::default(), Vec::new());
        for bytes in writes {
            let added = buffer.add(bytes, |line| {
                lines.push(line.to_vec());
                Ok::<_, ()>(())
            });
            assert_eq!(added, Ok(()));
        }
        lines.extend(buffer.end());
        lines
    }

    #[test]
    fn a_line_ends_at_its_newline() {
        assert_eq!(
            lines(&[b"one\ntw", b"o", b"\n\nthree"]),
            [&b"one"[..], b"two", b"", b"three"]
        );
        assert_eq!(lines(&[b""]), [b""; 0]);
    }

    #[test]
    fn a_line_ends_at_8_kib() {
        let long = vec![b'x'; MAX_LOG_LINE];
        let ends = |writes: &[&[u8]]| lines(writes).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(ends(&[&long, b"\nnext"]), [MAX_LOG_LINE, 4], "no empty line follows");
        assert_eq!(ends(&[&long, b"yz"]), [MAX_LOG_LINE, 2]);
        assert_eq!(ends(&[b"a", &long, &long]), [MAX_LOG_LINE, MAX_LOG_LINE, 1]);
    }

    #[test]
    fn a_long_line_is_cut_between_characters() {
        for character in ["é", "€", "🍵"] {
            for before in 0..4 {
                let text = "x".repeat(before) + &character.repeat(MAX_LOG_LINE);
                let (first, rest) = text.as_bytes().split_at(MAX_LOG_LINE - 1);
                for writes in [&[text.as_bytes()][..], &[first, rest], &[first, &rest[..1], &rest[1..]]] {
                    let lines = lines(writes);
                    let lines: Vec<_> = lines.iter().map(|line| str::from_utf8(line).unwrap()).collect();
                    assert_eq!(lines.concat(), text);
                    let (_, cut) = lines.split_last().unwrap();
                    let whole = MAX_LOG_LINE - 3..=MAX_LOG_LINE;
                    assert!(
                        cut.iter().all(|line| whole.contains(&line.len())),
                        "{character}, {before}"
                    );
                }
            }
        }
        // Bytes that are no text.
        let ends = |byte: u8| lines(&[&[byte; MAX_LOG_LINE + 1]]).concat().len();
        assert_eq!([0x80, 0xc3, 0xf0, 0xff].map(ends), [MAX_LOG_LINE + 1; 4]);
    }
}
