//! The id under which a request stands in every log line.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{HeaderMap, HeaderName, HeaderValue};

/// The header that a client, or a proxy before us, names the request with.
pub const REQUEST_ID_HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Longer ids from clients are replaced by one of our own, in bytes.
const MAX_CLIENT_ID: usize = 128;

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
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        match headers.get(REQUEST_ID_HEADER) {
            Some(value) if is_sane(value.as_bytes()) => Self(Repr::Client(value.clone())),
            _ => {
                static NEXT: AtomicU64 = AtomicU64::new(1);
                Self(Repr::Made(NEXT.fetch_add(1, Ordering::Relaxed)))
            }
        }
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
            Repr::Made(number) => {
                static PROCESS: OnceLock<u32> = OnceLock::new();
                // The standard hasher's seed is the one source of randomness that needs no dependency.
                let process = PROCESS.get_or_init(|| RandomState::new().hash_one(0) as u32);
                write!(f, "{process:08x}-{number:x}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_id_is_kept_only_if_it_is_sane() {
        let id = |value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID_HEADER, HeaderValue::from_static(value));
            RequestId::of(&headers).to_string()
        };
        assert_eq!(id("abc-123"), "abc-123");
        assert_ne!(id("a b"), "a b");
        assert_ne!(id(""), "");
        assert_ne!(id("a"), id("a b"));
    }
}
