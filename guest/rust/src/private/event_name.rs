//! Event names in constant functions, which the compiler runs for each channel.

use super::text::same;
use crate::channel::Listener;

pub use pointwork_events::is_event_name as is_own_name;

/// The event's name within the channel: without the channel's name before it, if it has that.
pub const fn own_name(channel: &str, name: &'static str) -> &'static str {
    let prefix = channel.len();
    if name.len() <= prefix + 1 || name.as_bytes()[prefix] != b':' {
        return name;
    }
    // The byte `:` is a whole character, so this is a character boundary.
    let (first, rest) = name.split_at(prefix);
    if same(first.as_bytes(), channel.as_bytes()) {
        rest.split_at(1).1
    } else {
        name
    }
}

/// Whether no attribute before the one at `index` has the same event.
pub const fn is_first(events: &[Listener], index: usize) -> bool {
    let mut at = 0;
    while at < index {
        if same(events[at].event.as_bytes(), events[index].event.as_bytes()) {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::{Listener, is_first, own_name};

    #[test]
    fn the_prefix_of_the_channel_alone_is_no_part_of_an_own_name() {
        assert_eq!(own_name("db", "db:product:all"), "product:all");
        assert_eq!(own_name("größe", "größe:ändern"), "ändern");
        for name in ["product:all", "db", "db:", "dbx:all", "dx:all", "größe", "d"] {
            assert_eq!(own_name("db", name), name);
        }
    }

    #[test]
    fn an_event_that_comes_again_is_not_the_first() {
        let event = |event| Listener {
            listener: 0,
            name: "",
            event,
            metadata: &[],
        };
        let events = [event("one"), event("two"), event("one")];
        assert!(is_first(&events, 0) && is_first(&events, 1));
        assert!(!is_first(&events, 2));
    }
}
