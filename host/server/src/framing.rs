//! Where the heads of HTTP/1 begin and end, so that a head with two framings can be refused.

use memchr::memchr;

/// Follows the bytes of a connection from head to head, and spoils a head that has `Content-Length` twice, or beside
/// `Transfer-Encoding`: the seed of request smuggling (RFC 9112, sections 6.3 and 11.2).
///
/// hyper settles such a head by itself before a service sees it; the crate's docs say how, and why it matters.
///
/// To spoil is to replace the end of the offending line by a NUL, which no head may hold: hyper then answers 400 and closes
/// the connection, as for any other malformed head.
///
/// It parses only what leads to the next head, and leaves every other judgement to hyper. Where it cannot follow, hyper
/// cannot either, and ends the connection.
#[derive(Debug, Default)]
pub(crate) struct Framing {
    position: Position,
    /// The beginning of a line whose end has not arrived.
    partial_line: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Head(Head),
    /// In a body, or in a chunk, its line end included: the number of bytes that are left of it.
    Data {
        left: u64,
        chunk: bool,
    },
    ChunkSize,
    /// Trailers, up to an empty line.
    Trailers,
    /// Bytes that are not HTTP/1.
    Lost,
}

impl Default for Position {
    fn default() -> Self {
        Self::Head(Head::default())
    }
}

/// The framing of a head so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Head {
    begun: bool,
    length: Option<u64>,
    encoded: bool,
}

/// The longest line that is kept while its end is missing. hyper takes no longer one either, whatever its limit.
const LONGEST_LINE: usize = 64 * 1024;

impl Framing {
    /// Takes the next bytes of the connection.
    pub(crate) fn follow(&mut self, bytes: &mut [u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &mut bytes[at..];
            at += match self.position {
                Position::Lost => return,
                Position::Data { left, chunk } => {
                    let taken = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
                    self.position = match left - taken as u64 {
                        0 if chunk => Position::ChunkSize,
                        0 => Position::default(),
                        left => Position::Data { left, chunk },
                    };
                    taken
                }
                Position::Head(_) | Position::ChunkSize | Position::Trailers => self.line(rest),
            };
        }
    }

    /// Takes a line, or the part of it that is there; returns how many bytes that was.
    fn line(&mut self, bytes: &mut [u8]) -> usize {
        let end = memchr(b'\n', bytes);
        let part = &bytes[..end.unwrap_or(bytes.len())];
        let line = if self.partial_line.is_empty() && end.is_some() {
            part
        } else {
            self.partial_line.extend_from_slice(part);
            &self.partial_line
        };
        let Some(end) = end else {
            if line.len() > LONGEST_LINE {
                self.position = Position::Lost;
            }
            return bytes.len();
        };
        let next = self.position.after_line(line.strip_suffix(b"\r").unwrap_or(line));
        self.partial_line.clear();
        self.position = next.unwrap_or_else(|| {
            bytes[end] = 0;
            Position::Lost
        });
        end + 1
    }
}

impl Position {
    /// The position after a line; `None` if the line has to be spoiled.
    fn after_line(self, line: &[u8]) -> Option<Self> {
        Some(match self {
            Self::Head(head) if line.is_empty() => head.end(),
            Self::Head(head) => Self::Head(head.line(line)?),
            Self::ChunkSize => match chunk_size(line) {
                None => Self::Lost,
                Some(0) => Self::Trailers,
                Some(size) => Self::Data {
                    left: size.saturating_add(2),
                    chunk: true,
                },
            },
            Self::Trailers if line.is_empty() => Self::default(),
            same => same,
        })
    }
}

impl Head {
    /// `None` if the line contradicts an earlier one.
    fn line(mut self, line: &[u8]) -> Option<Self> {
        // The first letter rules out nearly every line.
        match line[0] {
            _ if !self.begun => self.begun = true,
            b'c' | b'C' => {
                if let Some(value) = value_of(b"content-length", line) {
                    let fits = self.length.is_none() && !self.encoded;
                    // hyper refuses a length that is not a number.
                    self.length = fits.then(|| decimal(value).unwrap_or(0));
                    self.length?;
                }
            }
            b't' | b'T' if value_of(b"transfer-encoding", line).is_some() => {
                self.encoded = self.length.is_none();
                self.encoded.then_some(())?;
            }
            _ => {}
        }
        Some(self)
    }

    fn end(self) -> Position {
        match (self.begun, self.encoded, self.length) {
            // Empty lines may stand before a request.
            (false, ..) => Position::Head(self),
            (_, true, _) => Position::ChunkSize,
            (.., Some(left @ 1..)) => Position::Data { left, chunk: false },
            _ => Position::default(),
        }
    }
}

fn value_of<'l>(name: &[u8], line: &'l [u8]) -> Option<&'l [u8]> {
    let (found, value) = line.split_at_checked(name.len())?;
    found.eq_ignore_ascii_case(name).then_some(())?;
    value.strip_prefix(b":")
}

fn decimal(text: &[u8]) -> Option<u64> {
    str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}

/// The number at the beginning of a chunk's first line; an extension may follow it.
fn chunk_size(line: &[u8]) -> Option<u64> {
    let end = line.iter().position(|byte| !byte.is_ascii_hexdigit());
    let digits = str::from_utf8(&line[..end.unwrap_or(line.len())]).ok()?;
    u64::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests;
