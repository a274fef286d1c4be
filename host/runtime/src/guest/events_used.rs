//! The events that a module uses and does not list in its manifest.

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use pointwork_core::one_line;

/// The longest name of an event, in bytes.
const LONGEST: usize = 511;

/// The most events that one version is warned of: a guest may make names up.
const MOST_WARNED: usize = 64;

/// Warns of each event that a version of a module uses and does not list, once. The list decides whether a load or a swap is
/// warned of or refused (spec C2, C4), so an event that it lacks is missed without a word.
#[derive(Clone, Default)]
pub(crate) struct EventsUsed(Arc<Known>);

#[derive(Default)]
struct Known {
    /// In order; none before the manifest is read.
    listed: OnceLock<Vec<String>>,
    unlisted: Mutex<HashSet<String>>,
}

impl EventsUsed {
    /// The manifest is read.
    pub(crate) fn list(&self, events: &[String]) {
        let mut events = events.to_vec();
        events.sort_unstable();
        // The manifest of a version is read once more when it is loaded again; it is the same.
        let _ = self.0.listed.set(events);
    }

    /// The module uses an event.
    pub(super) fn note(&self, module: &str, event: &str) {
        if self.is_new(event) {
            let event = one_line(event, 256);
            tracing::warn!(
                module,
                "the module uses the event `{event}` and does not list it, so that nothing warns of it at a load or a swap; in \
                 Rust, `module!` lists it behind `uses:`"
            );
        }
    }

    /// Whether it is an event that is not listed, and was not used before.
    fn is_new(&self, event: &str) -> bool {
        let Some(listed) = self.0.listed.get().filter(|_| event.len() <= LONGEST) else {
            return false;
        };
        if listed.binary_search_by(|name| name.as_str().cmp(event)).is_ok() {
            return false;
        }
        let mut unlisted = self.0.unlisted.lock();
        unlisted.len() < MOST_WARNED && !unlisted.contains(event) && unlisted.insert(event.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_not_listed_is_new_once() {
        let used = EventsUsed::default();
        assert!(!used.is_new("db:one"), "the manifest is not read");
        used.list(&["db:two".to_owned(), "db:one".to_owned()]);
        assert!(!used.is_new("db:one") && !used.is_new("db:two"));
        let again = used.clone();
        assert!(used.is_new("db:three") && !again.is_new("db:three"));
        let new = (0..2 * MOST_WARNED).filter(|number| used.is_new(&number.to_string()));
        assert_eq!(new.count(), MOST_WARNED - 1);
    }
}
