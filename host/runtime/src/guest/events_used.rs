//! The events that a module uses and does not list in its manifest.

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
    /// Events that are not listed, in the order of their first use.
    unlisted: Mutex<Vec<String>>,
}

impl EventsUsed {
    /// The manifest is read.
    pub(crate) fn list(&self, events: &[String]) {
        let mut events = events.to_vec();
        events.sort_unstable();
        // The manifest of a version is read once more when it is loaded again; it is the same.
        let _ = self.0.listed.set(events);
    }

    /// The module uses an event. Returns the number by which [`name`](Self::name) finds it.
    pub(super) fn note(&self, module: &str, event: &str) -> Option<usize> {
        let (number, is_new) = self.number(event)?;
        if is_new {
            let event = one_line(event, 256);
            tracing::warn!(
                module,
                "the module uses the event `{event}` and does not list it, so that nothing warns of it at a load or a swap; in \
                 Rust, `module!` lists it behind `uses:`"
            );
        }
        Some(number)
    }

    /// The event of a number.
    pub(super) fn name(&self, number: usize) -> Option<String> {
        let listed = self.0.listed.get()?;
        match number.checked_sub(listed.len()) {
            None => listed.get(number).cloned(),
            Some(number) => self.0.unlisted.lock().get(number).cloned(),
        }
    }

    /// The number of an event, and whether this is the first use of an event that is not listed.
    fn number(&self, event: &str) -> Option<(usize, bool)> {
        let listed = self.0.listed.get().filter(|_| event.len() <= LONGEST)?;
        if let Ok(number) = listed.binary_search_by(|name| name.as_str().cmp(event)) {
            return Some((number, false));
        }
        let mut unlisted = self.0.unlisted.lock();
        let known = unlisted.iter().position(|name| name == event);
        if known.is_none() && unlisted.len() == MOST_WARNED {
            return None;
        }
        let number = known.unwrap_or(unlisted.len());
        if known.is_none() {
            unlisted.push(event.to_owned());
        }
        Some((listed.len() + number, known.is_none()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_is_not_listed_is_new_once() {
        let used = EventsUsed::default();
        assert_eq!(used.number("db:one"), None, "the manifest is not read");
        used.list(&["db:two".to_owned(), "db:one".to_owned()]);
        assert_eq!(used.number("db:one"), Some((0, false)));
        assert_eq!(used.number("db:two"), Some((1, false)));
        let again = used.clone();
        assert_eq!(used.number("db:three"), Some((2, true)));
        assert_eq!(again.number("db:three"), Some((2, false)));
        assert_eq!(used.name(0).as_deref(), Some("db:one"));
        assert_eq!(used.name(2).as_deref(), Some("db:three"));
        let numbers = (0..2 * MOST_WARNED).filter_map(|number| used.number(&number.to_string()));
        assert_eq!(numbers.filter(|(_, is_new)| *is_new).count(), MOST_WARNED - 1);
    }
}
