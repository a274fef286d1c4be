//! The options of a durable channel.

use std::time::Duration;

use serde_json::Value;

use crate::events::Payload;
use crate::limits;

/// The order in which the events of a durable channel are delivered. An event that is retried holds back those that follow it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// One after the other, in the order emitted.
    #[default]
    Channel,
    /// Events with the same value at this place of their payload one after the other, in the order emitted.
    Key(Pointer),
    /// None: beside each other.
    None,
}

limits! {
    /// How the events of a channel are recorded and delivered (spec N1 to N6).
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct DurableOptions {
        /// The number of attempts after which an event is a dead letter.
        attempts: u32 = count(8) >= 1 as "attempts";
        /// The number of partitions among which keys are distributed, for [`Order::Key`]: that many events are delivered beside
        /// each other. It cannot change while events wait.
        partitions: u16 = count(16) >= 1 as "partitions";
        /// The number of events that are delivered beside each other, for [`Order::None`].
        at_once: u16 = count(16) >= 1 as "at-once";
        /// The time for which the store knows an id: another event of the id is not kept.
        duplicates: Duration = time(3600 s) as "duplicates";
        /// The time that a reply waits for the store; 503 past it.
        confirm: Duration = time(5 s) as "confirm";
        /// The number of dead letters that are kept; the oldest ones go.
        dead_letters: u32 = count(10_000) >= 1 as "dead-letters";
    } and {
        /// The order of delivery. Default: [`Order::Channel`].
        order: Order = Order::default();
        /// The times between attempts; the last one repeats. Default: 1 s, 10 s, 1 min.
        backoff: Vec<Duration> = vec![Duration::from_secs(1), Duration::from_secs(10), Duration::from_mins(1)];
        /// The place of an event's id in its payload. Default: none, and the host makes one.
        id: Option<Pointer> = None;
    }
}

impl DurableOptions {
    /// The time before the attempt that follows this one.
    pub(super) fn backoff_after(&self, attempt: u32) -> Duration {
        let place = (attempt as usize).saturating_sub(1);
        let backoff = self.backoff.get(place).or(self.backoff.last());
        backoff.copied().unwrap_or_default()
    }

    /// The number of events that are delivered beside each other.
    pub fn lanes(&self) -> u16 {
        match self.order {
            Order::Channel => 1,
            Order::Key(_) => self.partitions,
            Order::None => self.at_once,
        }
        .max(1)
    }

    /// The partition of an event.
    ///
    /// # Errors
    /// The payload has no value at the place of the key.
    pub(super) fn partition(&self, payload: &Payload) -> Result<u16, String> {
        let Order::Key(key) = &self.order else {
            return Ok(0);
        };
        let hash = fnv(key.value(payload)?.as_bytes());
        Ok((hash % u64::from(self.partitions.max(1))) as u16)
    }
}

/// The hash of a key. Stores keep what follows from it, so it never changes.
fn fnv(bytes: &[u8]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    bytes
        .iter()
        .fold(OFFSET, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(PRIME))
}

/// A JSON pointer (RFC 6901) to a place in a payload, such as `/order/id`.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
pub struct Pointer(String);

impl Pointer {
    /// # Errors
    /// The text is no pointer; the message says what was expected.
    pub fn new(text: impl Into<String>) -> Result<Self, String> {
        let text = text.into();
        let escapes = text.split('~').skip(1);
        if text.starts_with('/') && escapes.clone().all(|rest| rest.starts_with(['0', '1'])) {
            Ok(Self(text))
        } else {
            Err(format!("`{text}` is no JSON pointer: expected one such as `/order/id`"))
        }
    }

    /// The text of the value there: that of a string, or the JSON of a number or boolean.
    ///
    /// # Errors
    /// The payload is no JSON, or there is none of these at the place.
    pub(super) fn value(&self, payload: &Payload) -> Result<String, String> {
        let json: Value = payload.to().map_err(|error| error.to_string())?;
        match json.pointer(&self.0) {
            Some(Value::String(text)) => Ok(text.clone()),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(value.to_string()),
            _ => Err(format!("the payload has no string, number or boolean at `{self}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_backoff_repeats() {
        let options = DurableOptions::default();
        let seconds = [1, 2, 3, 4, 100].map(|attempt| options.backoff_after(attempt).as_secs());
        assert_eq!(seconds, [1, 10, 60, 60, 60]);
    }

    #[test]
    fn a_key_has_one_partition_for_ever() {
        let options = DurableOptions::new().order(Order::Key(Pointer::new("/order/id").unwrap()));
        let partition =
            |id: Value| options.partition(&Payload::json(&serde_json::json!({"order": {"id": id}})).unwrap());
        assert_eq!(partition("a".into()), Ok((fnv(b"a") % 16) as u16));
        assert_eq!(fnv(b"a"), 0xaf63_dc4c_8601_ec8c, "the hash is FNV-1a");
        assert_eq!(partition(7.into()), partition("7".into()));
        let error = partition(Value::Null).unwrap_err();
        assert_eq!(error, "the payload has no string, number or boolean at `/order/id`");
    }

    #[test]
    fn a_text_that_is_no_pointer_is_refused() {
        for text in ["", "order", "order/id", "/a~2", "/a~"] {
            assert!(Pointer::new(text).unwrap_err().contains(text), "{text}");
        }
        for text in ["/", "/a~0b", "/a~1b", "/0/x"] {
            assert!(Pointer::new(text).is_ok(), "{text}");
        }
    }
}
