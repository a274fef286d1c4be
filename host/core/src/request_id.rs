//! The id under which a request stands in every log line, and the id of an event.

use std::cell::Cell;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header that a client, or a proxy before us, names the request with.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Longer ids from clients are replaced by one of our own, in bytes.
const MAX_CLIENT_ID: usize = 128;

/// The longest id that is made here, in bytes: two numbers in hex and a hyphen.
const MAX_MADE_ID: usize = 8 + 1 + 16;

/// A request's id: the client's `x-request-id` if it is 1 to 128 letters, digits or any of `-_.:=+/@`, otherwise one made
/// here, which is unique within the process and almost surely among processes (spec H9).
///
/// It is cheap to clone, and becomes text only when it is displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(Repr);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Repr {
    Client(HeaderValue),
    Made(u64),
}

impl RequestId {
    pub(crate) fn from_headers(headers: &HeaderMap) -> Self {
        match headers.get(REQUEST_ID_HEADER) {
            Some(value) if is_sane(value.as_bytes()) => Self(Repr::Client(value.clone())),
            _ => Self(Repr::Made(next())),
        }
    }

    /// An id that was recorded as text.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let value = HeaderValue::from_str(text).ok()?;
        is_sane(value.as_bytes()).then(|| Self(Repr::Client(value)))
    }

    /// The value of the reply's `x-request-id` (spec H9). An id of the client's costs nothing, one made here an allocation.
    pub(crate) fn header(&self) -> HeaderValue {
        match &self.0 {
            Repr::Client(value) => value.clone(),
            Repr::Made(number) => {
                let made = MadeId::new(*number);
                HeaderValue::from_str(made.as_str()).unwrap_or(HeaderValue::from_static("none"))
            }
        }
    }
}

/// The number of the next id that is made here, of a request or of an event.
///
/// A thread takes many at a time, so that threads do not wait for each other's cache lines.
fn next() -> u64 {
    const AT_A_TIME: u64 = 256;
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        /// The next number, and the end of those that the thread has.
        static TAKEN: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
    }
    let (mut next, mut end) = TAKEN.get();
    if next == end {
        next = NEXT.fetch_add(AT_A_TIME, Ordering::Relaxed);
        end = next + AT_A_TIME;
    }
    TAKEN.set((next + 1, end));
    next
}

/// The id of an event. One made here becomes text only when it is displayed.
#[derive(Clone, Debug)]
pub(crate) enum EventId {
    Made(u64),
    Recorded(String),
}

impl EventId {
    pub(crate) fn made() -> Self {
        Self::Made(next())
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Made(number) => f.write_str(MadeId::new(*number).as_str()),
            Self::Recorded(id) => f.write_str(id),
        }
    }
}

/// The text of an id that is made here: the process and a number, in hex, with a hyphen between them. Each reply has one, so
/// it does without the machinery of `write!`.
struct MadeId {
    text: [u8; MAX_MADE_ID],
    length: usize,
}

impl MadeId {
    fn new(number: u64) -> Self {
        static PROCESS: OnceLock<u32> = OnceLock::new();
        // The standard hasher's seed is the one source of randomness that needs no dependency.
        let process = *PROCESS.get_or_init(|| RandomState::new().hash_one(0) as u32);
        let mut made = Self {
            text: [b'-'; MAX_MADE_ID],
            length: 9,
        };
        made.put(0, 8, process.into());
        let digits = (u64::BITS - number.leading_zeros()).div_ceil(4).max(1) as usize;
        made.put(9, digits, number);
        made.length += digits;
        made
    }

    /// Writes the last digits of a number.
    fn put(&mut self, at: usize, digits: usize, mut number: u64) {
        for place in self.text[at..at + digits].iter_mut().rev() {
            *place = b"0123456789abcdef"[(number & 15) as usize];
            number >>= 4;
        }
    }

    fn as_str(&self) -> &str {
        str::from_utf8(&self.text[..self.length]).unwrap_or_default()
    }
}

fn is_sane(id: &[u8]) -> bool {
    let in_bounds = (1..=MAX_CLIENT_ID).contains(&id.len());
    in_bounds
        && id
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:=+/@".contains(byte))
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // An id that passed `is_sane` is ASCII.
            Repr::Client(value) => f.write_str(value.to_str().unwrap_or_default()),
            Repr::Made(number) => f.write_str(MadeId::new(*number).as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_id_whole() {
        for number in [0, 1, u64::MAX] {
            let id = RequestId(Repr::Made(number));
            assert_eq!(id.header(), id.to_string());
        }
        let client = RequestId(Repr::Client(HeaderValue::from_static("mine-1")));
        assert_eq!(client.header(), "mine-1");
    }

    #[test]
    fn a_made_id_is_the_process_and_a_number_in_hex() {
        let text = |number| RequestId(Repr::Made(number)).to_string();
        let process = text(0).strip_suffix("-0").unwrap().to_owned();
        assert!(
            process.len() == 8 && process.chars().all(|c| c.is_ascii_hexdigit()),
            "{process}"
        );
        for number in [1, 15, 16, 0xabc, u64::MAX] {
            assert_eq!(text(number), format!("{process}-{number:x}"));
        }
    }

    #[test]
    fn a_clients_id_is_kept_only_if_it_is_sane() {
        let id = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID_HEADER, HeaderValue::from_static(value));
            RequestId::from_headers(&headers).to_string()
        };
        assert_eq!(id("abc-123"), "abc-123");
        assert_ne!(id("a b"), "a b");
        assert_ne!(id(""), "");
        assert_ne!(id("a"), id("a b"));
    }
}
