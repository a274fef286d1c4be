//! Where the heads and the bodies of HTTP/1 begin and end, so that a request with two readings can be refused.

use memchr::memchr;

/// Follows the bytes of a connection from head to head, ahead of the server's parser, and spoils what that parser would
/// settle without a trace, and a proxy may read in another way: the seed of request smuggling (RFC 9112, section 11.2).
///
/// - A head with `Content-Length` twice, or beside `Transfer-Encoding` (RFC 9112, section 6.3): a NUL, which no head may
///   hold, takes the place of a byte at the end of the offending line.
/// - A chunked body with a line feed alone behind a size, a chunk or a trailer, with other bytes behind a chunk, or with a
///   size near 2^64 (RFC 9112, section 7.1): a CR takes the place of the line feed, and NULs that of everything behind it, so
///   that no parser finds an end of the body.
///
/// The parser then refuses the request as any other malformed one, and closes the connection.
///
/// It parses only what leads to the next head, and leaves every other judgement to the server. Where it cannot follow, no
/// parser can, and each ends the connection. A line feed alone may end a line of a head (RFC 9112, section 2.2).
#[derive(Debug)]
pub struct Framing {
    position: Position,
    /// The beginning of a line whose end has not arrived.
    partial_line: Vec<u8>,
    longest_line: usize,
    strict: bool,
    /// The number of messages that have ended, and that of those with bytes behind their end.
    ended: u64,
    passed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Position {
    Head(Head),
    /// In a body or in a chunk: the number of bytes that are left of it.
    Data {
        left: u64,
        chunk: bool,
    },
    /// The end of the line behind a chunk.
    ChunkEnd,
    ChunkSize,
    /// Trailers, up to an empty line.
    Trailers,
    /// Bytes that are not HTTP/1.
    Lost,
    /// Behind such a line of a chunked body.
    Broken,
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

/// The longest line that is followed under any limit; a longer one of a chunked body breaks the body.
const MIN_LINE_LIMIT: usize = 16 * 1024;

/// The largest chunk whose end a parser can count in 64 bits: trillium-http 1.6.1 adds the two bytes of the line end without
/// a check, and so panics, or takes the size for 0 or 1.
const LARGEST_CHUNK: u64 = u64::MAX - 2;

impl Framing {
    /// Before the first byte of a connection whose heads have at most that many bytes.
    pub fn new(max_header_bytes: u32) -> Self {
        Self {
            position: Position::default(),
            partial_line: Vec::new(),
            longest_line: MIN_LINE_LIMIT.max(usize::try_from(max_header_bytes).unwrap_or(usize::MAX)),
            strict: false,
            ended: 0,
            passed: 0,
        }
    }

    /// Also spoils a line of a head that ends in a line feed alone, or with a CR or a form feed before its end: for a parser
    /// that takes these for a part of the line, and strips them.
    #[must_use]
    pub fn strict(self) -> Self {
        Self { strict: true, ..self }
    }

    /// Whether a chunked body is broken, so that the connection brings nothing more that counts.
    pub fn is_broken(&self) -> bool {
        self.position == Position::Broken
    }

    /// The number of messages behind whose end other bytes have come.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// Takes the next bytes of the connection.
    pub fn follow(&mut self, bytes: &mut [u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &mut bytes[at..];
            let before = self.position;
            if before == Position::default() {
                self.passed = self.ended;
            }
            at += match self.position {
                Position::Lost => return,
                Position::Broken => return rest.fill(0),
                Position::Data { left, chunk } => {
                    let taken = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
                    self.position = match left - taken as u64 {
                        0 if chunk => Position::ChunkEnd,
                        0 => Position::default(),
                        left => Position::Data { left, chunk },
                    };
                    taken
                }
                Position::Head(_) | Position::ChunkEnd | Position::ChunkSize | Position::Trailers => self.line(rest),
            };
            if before != Position::default() && self.position == Position::default() {
                self.ended += 1;
            }
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
            if line.len() > self.longest_line {
                // A parser may have no limit for trailers.
                let is_head = self.position.is_head();
                self.position = if is_head { Position::Lost } else { Position::Broken };
            }
            return bytes.len();
        };
        let content = line.strip_suffix(b"\r").unwrap_or(line);
        let is_whole = content.len() < line.len();
        let next = if self.strict && self.position.is_head() && !is_strict(content, is_whole) {
            None
        } else {
            self.position.after_line(content, is_whole)
        };
        self.partial_line.clear();
        self.position = next.unwrap_or(Position::Lost);
        if next.is_none() {
            // Where the last byte of the line is there, the line keeps its end, and the head too.
            let last = bytes[..end].strip_suffix(b"\r").unwrap_or(&bytes[..end]).len();
            bytes[last.checked_sub(1).unwrap_or(end)] = 0;
        } else if self.is_broken() {
            bytes[end] = b'\r';
        }
        end + 1
    }
}

impl Position {
    fn is_head(self) -> bool {
        matches!(self, Self::Head(_))
    }

    /// The position after a line, whose end is whole or a line feed alone; `None` if the line has to be spoiled.
    fn after_line(self, line: &[u8], is_whole: bool) -> Option<Self> {
        Some(match self {
            Self::Head(head) if line.is_empty() => head.end(),
            Self::Head(head) => Self::Head(head.line(line)?),
            _ if !is_whole => Self::Broken,
            Self::ChunkEnd if line.is_empty() => Self::ChunkSize,
            Self::ChunkEnd => Self::Broken,
            Self::ChunkSize => match chunk_size(line) {
                None => Self::Lost,
                Some(0) => Self::Trailers,
                Some(left) if left > LARGEST_CHUNK => Self::Broken,
                Some(left) => Self::Data { left, chunk: true },
            },
            Self::Trailers if line.is_empty() => Self::default(),
            same => same,
        })
    }
}

fn is_strict(line: &[u8], is_whole: bool) -> bool {
    is_whole && !matches!(line, [.., b'\r' | b'\x0c'])
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
                    // Every parser refuses a length that is not a number.
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
