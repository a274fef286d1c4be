//! Where heads begin and end, so that one framed in two ways can be refused.

use memchr::memchr;

/// Follows the bytes of a connection from head to head, and spoils a head that has `Content-Length` twice, or beside
/// `Transfer-Encoding`: the seed of request smuggling (RFC 9112, sections 6.3 and 11.2).
///
/// hyper settles such a head by itself before a service sees it; the crate's docs say how, and why it matters.
///
/// Spoiling means to make the end of the offending line a NUL, which no head may hold: hyper then answers 400 and closes
/// the connection, as for any other malformed head.
///
/// It reads no more than it needs to know where the next head begins, and leaves every other judgement to hyper. Where
/// it cannot tell any more, hyper cannot either, and ends the connection.
#[derive(Debug)]
pub(crate) struct Framing {
    state: State,
    /// The beginning of a line whose end did not arrive yet.
    carried: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Head(Head),
    /// So many bytes of a body are left, or of a chunk, its line end included.
    Data {
        left: u64,
        chunk: bool,
    },
    /// The size of a chunk comes.
    ChunkSize,
    /// Trailers, up to an empty line.
    Trailers,
    /// Something that is no HTTP.
    Lost,
}

/// What is known of a head so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Head {
    begun: bool,
    length: Option<u64>,
    encoded: bool,
}

/// The longest line that is kept while its end is not there. hyper takes no longer one either, whatever its limit.
const LONGEST_LINE: usize = 64 * 1024;

impl Framing {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Head(Head::default()),
            carried: Vec::new(),
        }
    }

    /// Looks at the next bytes of the connection.
    pub(crate) fn look_through(&mut self, bytes: &mut [u8]) {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &mut bytes[at..];
            at += match self.state {
                State::Lost => return,
                State::Data { left, chunk } => {
                    let taken = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
                    self.state = match left - taken as u64 {
                        0 if chunk => State::ChunkSize,
                        0 => State::Head(Head::default()),
                        left => State::Data { left, chunk },
                    };
                    taken
                }
                State::Head(_) | State::ChunkSize | State::Trailers => self.line(rest),
            };
        }
    }

    /// Takes a line, or the part of it that is there; returns how many bytes that was.
    fn line(&mut self, bytes: &mut [u8]) -> usize {
        let Some(end) = memchr(b'\n', bytes) else {
            self.carried.extend_from_slice(bytes);
            if self.carried.len() > LONGEST_LINE {
                self.state = State::Lost;
            }
            return bytes.len();
        };
        let next = if self.carried.is_empty() {
            after_line(self.state, without_cr(&bytes[..end]))
        } else {
            self.carried.extend_from_slice(&bytes[..end]);
            let next = after_line(self.state, without_cr(&self.carried));
            self.carried.clear();
            next
        };
        self.state = next.unwrap_or_else(|| {
            bytes[end] = 0;
            State::Lost
        });
        end + 1
    }
}

fn without_cr(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The state after a line; `None` if the line has to be spoiled.
fn after_line(state: State, line: &[u8]) -> Option<State> {
    match state {
        State::Head(head) if line.is_empty() => Some(head.end()),
        State::Head(head) => head.line(line).map(State::Head),
        State::ChunkSize => Some(match chunk_size(line) {
            None => State::Lost,
            Some(0) => State::Trailers,
            Some(size) => State::Data {
                left: size.saturating_add(2),
                chunk: true,
            },
        }),
        State::Trailers if line.is_empty() => Some(State::Head(Head::default())),
        same => Some(same),
    }
}

impl Head {
    /// `None` if the line contradicts an earlier one.
    fn line(mut self, line: &[u8]) -> Option<Self> {
        if !self.begun {
            self.begun = true;
            return Some(self);
        }
        // Nearly every line is told apart by its first letter.
        match line[0] {
            b'c' | b'C' => {
                if let Some(value) = value_of(b"content-length", line) {
                    if self.length.is_some() || self.encoded {
                        return None;
                    }
                    // What is no number is refused by hyper.
                    self.length = Some(decimal(value).unwrap_or(0));
                }
            }
            b't' | b'T' if value_of(b"transfer-encoding", line).is_some() => {
                if self.length.is_some() {
                    return None;
                }
                self.encoded = true;
            }
            _ => {}
        }
        Some(self)
    }

    fn end(self) -> State {
        match self {
            // Empty lines may stand before a request.
            Self { begun: false, .. } => State::Head(self),
            Self { encoded: true, .. } => State::ChunkSize,
            Self {
                length: Some(left @ 1..),
                ..
            } => State::Data { left, chunk: false },
            _ => State::Head(Self::default()),
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
