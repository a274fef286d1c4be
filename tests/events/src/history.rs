//! The history of a durable channel, and the rules that it must keep (spec N1 to N6).

use std::collections::{BTreeMap, BTreeSet};

/// An event by its key, and its number among the events of the key: both are in its payload.
pub type Event = (u32, u32);

/// Something that happened to an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A request is about to emit it.
    Emitted(Event),
    /// The request got its reply.
    Confirmed(Event),
    /// A listener began with it: its id, and the number of the attempt.
    Attempted(Event, String, u32),
    /// The listener returned a value.
    Delivered(Event),
    /// It is a dead letter, of that id.
    Dead(Event, String),
}

/// Which order the channel promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promised {
    /// Events of a key in the order emitted.
    ByKey,
    /// The same, from a server that was killed: it has forgotten the last attempts that it counted.
    ByKeyOfKilled,
    /// None.
    Nothing,
}

/// Checks a history that is at its end: no event waits any more.
///
/// # Errors
/// The sentence names the rule and the event.
pub fn check(history: &[Entry], promised: Promised) -> Result<(), String> {
    let mut emitted = BTreeSet::<Event>::new();
    let mut confirmed = BTreeSet::<Event>::new();
    let mut delivered = BTreeSet::<Event>::new();
    let mut dead = BTreeMap::<Event, usize>::new();
    let mut ids = BTreeMap::<Event, &String>::new();
    let mut owners = BTreeMap::<&str, &Event>::new();
    let mut attempts = BTreeMap::<Event, u32>::new();
    let mut newest = BTreeMap::<u32, u32>::new();
    for entry in history {
        match entry {
            Entry::Emitted(event) => {
                emitted.insert(*event);
            }
            Entry::Confirmed(event) => {
                confirmed.insert(*event);
            }
            Entry::Attempted(event, id, attempt) => {
                if !emitted.contains(event) {
                    return Err(format!("{event:?} was delivered and never emitted"));
                }
                let known = ids.entry(*event).or_insert(id);
                if *known != id {
                    return Err(format!("{event:?} has two ids, `{known}` and `{id}`"));
                }
                let owner = owners.entry(id).or_insert(event);
                if *owner != event {
                    return Err(format!("{owner:?} and {event:?} have one id, `{id}`"));
                }
                let before = attempts.insert(*event, *attempt).unwrap_or_default();
                if *attempt <= before && promised != Promised::ByKeyOfKilled {
                    return Err(format!("attempt {attempt} of {event:?} follows attempt {before}"));
                }
                let (key, number) = event;
                let newest = newest.entry(*key).or_default();
                if promised != Promised::Nothing && number < newest {
                    return Err(format!("{event:?} was delivered after number {newest} of its key"));
                }
                *newest = (*newest).max(*number);
            }
            Entry::Delivered(event) => {
                delivered.insert(*event);
            }
            Entry::Dead(event, id) => {
                if ids.get(event).is_some_and(|known| *known != id) {
                    return Err(format!("the dead letter of {event:?} has another id, `{id}`"));
                }
                *dead.entry(*event).or_default() += 1;
            }
        }
    }
    if let Some((event, count)) = dead.iter().find(|(_, count)| **count > 1) {
        return Err(format!("{event:?} has {count} dead letters"));
    }
    match confirmed
        .iter()
        .find(|event| !delivered.contains(event) && !dead.contains_key(event))
    {
        Some(event) => Err(format!("{event:?} was confirmed and lost")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attempted(number: u32, id: &str, attempt: u32) -> Entry {
        Entry::Attempted((1, number), id.to_owned(), attempt)
    }

    fn good() -> Vec<Entry> {
        vec![
            Entry::Emitted((1, 1)),
            Entry::Confirmed((1, 1)),
            Entry::Emitted((1, 2)),
            Entry::Confirmed((1, 2)),
            attempted(1, "a", 1),
            attempted(1, "a", 2),
            Entry::Delivered((1, 1)),
            attempted(2, "b", 1),
            Entry::Dead((1, 2), "b".to_owned()),
        ]
    }

    fn refusal(break_it: impl FnOnce(&mut Vec<Entry>)) -> String {
        let mut history = good();
        break_it(&mut history);
        check(&history, Promised::ByKey).expect_err("the history is broken")
    }

    #[test]
    fn a_good_history_passes() {
        assert_eq!(check(&good(), Promised::ByKey), Ok(()));
    }

    #[test]
    fn every_rule_catches_a_broken_history() {
        let lost = refusal(|history| history.retain(|entry| !matches!(entry, Entry::Delivered(..))));
        assert_eq!(lost, "(1, 1) was confirmed and lost");
        let invented = refusal(|history| history.push(attempted(3, "c", 1)));
        assert_eq!(invented, "(1, 3) was delivered and never emitted");
        let renamed = refusal(|history| history[5] = attempted(1, "c", 2));
        assert_eq!(renamed, "(1, 1) has two ids, `a` and `c`");
        let shared = refusal(|history| history[7] = attempted(2, "a", 1));
        assert_eq!(shared, "(1, 1) and (1, 2) have one id, `a`");
        let repeated = refusal(|history| history[5] = attempted(1, "a", 1));
        assert_eq!(repeated, "attempt 1 of (1, 1) follows attempt 1");
        let overtaken = refusal(|history| history.swap(5, 7));
        assert_eq!(overtaken, "(1, 1) was delivered after number 2 of its key");
        let twice = refusal(|history| history.push(history[8].clone()));
        assert_eq!(twice, "(1, 2) has 2 dead letters");
    }

    #[test]
    fn a_channel_without_order_may_overtake() {
        let mut history = good();
        history.swap(5, 7);
        assert_eq!(check(&history, Promised::Nothing), Ok(()));
    }
}
